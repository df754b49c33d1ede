package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"choir/internal/cputime"
	"choir/protocol"
	"choir/transport"
)

// bareRuns is how often the bare transfer is repeated.
const bareRuns = 3

// hostedLimit sets the limits of a hosted run: over NATS, the bare transfer of the
// round's bytes.
func (r *Result) hostedLimit(ctx context.Context, h *hosted) error {
	if r.Transport != NATS {
		return nil
	}
	b := &Bare{}
	for i := range bareRuns {
		r.progress("bare transfer %d of %d", i+1, bareRuns)
		setup, round, err := replay(ctx, h.w.session, r.Config, h.log,
			filepath.Join(h.dir, fmt.Sprintf("bare-%d", i)), b)
		if err != nil {
			return fmt.Errorf("bare transfer: %w", err)
		}
		b.All, b.SetupSeconds = append(b.All, round/float64(r.Rounds)), setup
	}
	sorted := slices.Sorted(slices.Values(b.All))
	b.Seconds = sorted[len(sorted)/2]
	b.CPUSeconds /= float64(r.Rounds)
	r.Bare, r.LimitRatio = b, b.Seconds/r.SecondsRound
	r.LimitOf = "the bare transfer of the round's messages over an equal broker, over the round's wall time"
	return nil
}

// replay sends a session's messages over a fresh broker and reads them, first those
// of the set-up, then those of the rounds, and returns what both took.
func replay(ctx context.Context, s protocol.BoundPlan, cfg Config, log *traffic, dir string, b *Bare) (setup,
	round float64, err error) {
	over, err := startNetwork(s, cfg, dir)
	if err != nil {
		return 0, 0, err
	}
	defer over.shutdown()
	p := &replayer{buses: make([]transport.Bus, len(log.round)),
		subs:    make([]transport.Subscription, len(log.round)),
		filters: make([]transport.Filters, len(log.round))}
	defer p.close()
	for i := range p.buses {
		if p.buses[i], err = over.connect(ctx, uint32(i)); err != nil {
			return 0, 0, err
		}
		if p.filters[i], err = transport.NewFilters(s.Filters(uint32(i))); err != nil {
			return 0, 0, err
		}
		if p.subs[i], err = p.buses[i].Subscribe(ctx, s.Filters(uint32(i)), 1); err != nil {
			return 0, 0, err
		}
	}
	if setup, err = p.play(ctx, log.setup, &Bare{}); err != nil {
		return 0, 0, err
	}
	b.Messages = 0
	b.Bytes = 0
	b.ReadBytes = 0
	cpu := cputime.Used().Seconds()
	round, err = p.play(ctx, log.round, b)
	b.CPUSeconds = cputime.Used().Seconds() - cpu
	return setup, round, err
}

type replayer struct {
	buses   []transport.Bus
	subs    []transport.Subscription
	filters []transport.Filters
}

func (p *replayer) close() {
	for i := range p.buses {
		if p.subs[i] != nil {
			_ = p.subs[i].Close()
		}
		if p.buses[i] != nil {
			_ = p.buses[i].Close()
		}
	}
}

// play lets every member publish its calls, in order, while every member reads
// what its filters let through.
func (p *replayer) play(ctx context.Context, calls [][]call, b *Bare) (float64, error) {
	awaited := make([]int, len(p.subs))
	for _, member := range calls {
		for _, c := range member {
			for _, m := range c {
				b.Messages, b.Bytes = b.Messages+1, b.Bytes+int64(m.bytes)
				for i := range awaited {
					if p.filters[i].Match(m.subject) {
						awaited[i]++
						b.ReadBytes += int64(m.bytes)
					}
				}
			}
		}
	}
	data := make([]byte, largest(calls))
	for i := range data {
		data[i] = byte(i * 131)
	}
	at := time.Now()
	errs := make([]error, 2*len(p.subs))
	var group sync.WaitGroup
	for i := range p.subs {
		group.Go(func() { errs[2*i] = p.publish(ctx, i, calls[i], data) })
		group.Go(func() { errs[2*i+1] = p.read(ctx, i, awaited[i]) })
	}
	group.Wait()
	return time.Since(at).Seconds(), errors.Join(errs...)
}

func largest(calls [][]call) (n int) {
	for _, member := range calls {
		for _, c := range member {
			for _, m := range c {
				n = max(n, m.bytes)
			}
		}
	}
	return n
}

func (p *replayer) publish(ctx context.Context, i int, calls []call, data []byte) error {
	for _, c := range calls {
		msgs := make([]transport.Message, len(c))
		for j, m := range c {
			msgs[j] = transport.Message{Subject: m.subject, Data: data[:m.bytes]}
		}
		if err := p.buses[i].Publish(ctx, msgs...); err != nil {
			return err
		}
	}
	return nil
}

func (p *replayer) read(ctx context.Context, i, messages int) error {
	for range messages {
		if _, err := p.subs[i].Next(ctx); err != nil {
			return err
		}
	}
	return nil
}
