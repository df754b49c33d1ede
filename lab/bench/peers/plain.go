package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"choir/crypto/field"
	"choir/lab/bench"
	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// plain is no protection at all: every client publishes its vector over a broker
// like Choir's, and one aggregator reads and adds.
func plain(ctx context.Context, cfg Config) (Row, error) {
	row := Row{Name: "plain sum over NATS", Source: "no protection; file-backed JetStream",
		Parties: cfg.Parties, Servers: 1, Messages: 1, Versus: overNATS,
		UploadBytes: int64(8 * cfg.Dim), Gives: "nothing",
		Lacks: "every protection: the server reads each vector"}
	in, sum, err := vectors(cfg)
	if err != nil {
		return row, err
	}
	dir, err := os.MkdirTemp("", "choir-peers-")
	if err != nil {
		return row, err
	}
	defer os.RemoveAll(dir)
	server, err := embedded.Start(embedded.Config{StoreDir: dir})
	if err != nil {
		return row, err
	}
	defer server.Shutdown()
	p := &plainRun{cfg: cfg, server: server}
	defer p.close()
	if err := p.connect(ctx); err != nil {
		return row, err
	}
	at := time.Now()
	got, err := p.round(ctx, in)
	row.RoundSeconds = time.Since(at).Seconds()
	if err != nil {
		return row, err
	}
	if row.ClientSeconds, row.ServerSeconds, err = plainCosts(in[0]); err != nil {
		return row, err
	}
	return row, equal(got, sum)
}

const plainSubject = "choir.00000000.plain."

// plainChunk is how many elements travel in a message, as in Choir.
const plainChunk = 65536

type plainRun struct {
	cfg    Config
	server *embedded.Server
	buses  []*natsbus.Bus
	sub    transport.Subscription
}

func (p *plainRun) close() {
	for _, b := range p.buses {
		_ = b.Close()
	}
}

func (p *plainRun) connect(ctx context.Context) error {
	for i := range p.cfg.Parties + 1 {
		b, err := natsbus.Open(ctx, natsbus.Config{Server: p.server, Plan: "00000000",
			Name: fmt.Sprintf("client-%d", i)})
		if err != nil {
			return err
		}
		p.buses = append(p.buses, b)
	}
	if err := p.buses[0].EnsureStream(ctx); err != nil {
		return err
	}
	var err error
	p.sub, err = p.buses[0].Subscribe(ctx, []string{plainSubject + ">"}, 1)
	return err
}

func (p *plainRun) round(ctx context.Context, in []field.Vector) (field.Vector, error) {
	errs := make([]error, len(in))
	var group sync.WaitGroup
	for i, x := range in {
		group.Go(func() { errs[i] = p.publish(ctx, i, x) })
	}
	sum := make(field.Vector, p.cfg.Dim)
	part := make(field.Vector, plainChunk)
	for range len(in) * ((p.cfg.Dim + plainChunk - 1) / plainChunk) {
		m, err := p.sub.Next(ctx)
		if err != nil {
			return nil, err
		}
		var client, chunk int
		if _, err := fmt.Sscanf(m.Subject, plainSubject+"%d.%d", &client, &chunk); err != nil {
			return nil, err
		}
		v := part[:len(m.Data)/8]
		if err := field.DecodeVector(v, m.Data); err != nil {
			return nil, err
		}
		sum[chunk*plainChunk : chunk*plainChunk+len(v)].Add(v)
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func (p *plainRun) publish(ctx context.Context, client int, x field.Vector) error {
	var msgs []transport.Message
	for lo := 0; lo < len(x); lo += plainChunk {
		msgs = append(msgs, transport.Message{Subject: fmt.Sprintf("%s%d.%d", plainSubject, client,
			lo/plainChunk),
			Data: field.AppendVector(nil, x[lo:min(len(x), lo+plainChunk)])})
	}
	return p.buses[client+1].Publish(ctx, msgs...)
}

// plainCosts is encoding at a client, decoding and adding at the server.
func plainCosts(x field.Vector) (client, server float64, err error) {
	const times = 200
	var b []byte
	c, err := bench.Measure(func() error {
		for range times {
			b = field.AppendVector(b[:0], x)
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	client = c.CPUSeconds / times
	v, sum := make(field.Vector, len(x)), make(field.Vector, len(x))
	c, err = bench.Measure(func() error {
		for range times {
			if err := field.DecodeVector(v, b); err != nil {
				return err
			}
			sum.Add(v)
		}
		return nil
	})
	return client, c.CPUSeconds / times, err
}
