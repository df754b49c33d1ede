//go:build unix

package compute_test

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"choir/compute"
	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
)

// BenchmarkWorkers measures one round's contributions of 64 parties, d = 10,000, at one worker on one
// core and at two on two: open, verify, expand, add. MB/s counts shares. On a machine with other
// load compare the processor time: if it is the same for two workers as for one, two cores do
// twice the work.
func BenchmarkWorkers(b *testing.B) {
	const parties, dim = 64, 10_000
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			session := recordWorkers(b, parties, dim, workers)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
			b.SetBytes(parties * dim * 8)
			began := cpu(b)
			for b.Loop() {
				var group sync.WaitGroup
				for w := range workers {
					group.Go(func() { session.replay(b, w) })
				}
				group.Wait()
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpu is the processor time of this process so far, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// recorded is the messages that each worker of a session gets before its node's first request.
type recorded struct {
	c        *crowd
	received [][][]byte
	held     []int
}

func recordWorkers(b *testing.B, parties uint32, dim, workers int) *recorded {
	b.Helper()
	c := newCrowdOf(b, parties, dim, workers, false)
	r := &recorded{c: c, received: make([][][]byte, workers), held: make([]int, workers)}
	asked := false
	c.tap = func(_ *seat, data []byte) [][]byte {
		path, m, err := c.openWorker(data)
		if err != nil {
			b.Fatal(err)
		}
		switch m := m.(type) {
		case *protocol.WorkerAsk:
			asked = true
		case *protocol.WorkerHeld:
			if !asked {
				r.held[path.Worker] += len(m.Contributions)
			}
		case *protocol.WorkerLinks:
			r.received[path.Worker] = append(r.received[path.Worker], data)
		}
		return [][]byte{data}
	}
	c.between = func(data []byte) {
		e, err := protocol.UnmarshalEnvelope(data)
		chunk, notChunk := protocol.UnmarshalChunk(data)
		for w := range workers {
			mine := func(party uint32) bool { return protocol.WorkerOf(party, uint32(workers)) == uint32(w) }
			head := err == nil && (e.Kind == protocol.KindRound || e.Kind == protocol.KindContribution && mine(e.From))
			share := notChunk == nil && chunk.To == parties && mine(chunk.From)
			if !asked && (head || share) {
				r.received[w] = append(r.received[w], data)
			}
		}
	}
	c.run()
	return r
}

// replay delivers a worker's messages to a new worker.
func (r *recorded) replay(b *testing.B, w int) {
	store := host.NewRam()
	s := r.c.s
	batch := protocol.NewBatch(s, rand.Reader)
	s.Verifier = batch
	cfg := r.c.workerConfig(w, store)
	cfg.Session = s
	cfg.Accept = func(_ *channel.PrivateKey, enc, _ []byte) (*channel.Secret, error) {
		return r.c.secrets[string(enc)], nil
	}
	worker, err := compute.NewWorker(cfg)
	if err != nil {
		b.Error(err)
		return
	}
	held := 0
	step := func(ev protocol.Event) {
		eff := worker.Step(2_000_000, ev)
		if err := store.Apply(eff.Persist); err != nil {
			b.Error(err)
		}
		for _, o := range eff.Send {
			if _, m, err := r.c.openWorker(o.Data); err == nil {
				if h, ok := m.(*protocol.WorkerHeld); ok {
					held += len(h.Contributions)
				}
			}
		}
	}
	step(protocol.Start{})
	batch.Prepare(r.received[w])
	for _, data := range r.received[w] {
		step(protocol.Delivery{Data: data})
	}
	if held != r.held[w] || held == 0 {
		b.Errorf("worker %d holds %d contributions, not %d", w, held, r.held[w])
	}
}
