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
	"choir/host"
	"choir/protocol"
)

// BenchmarkWorkers takes in one round's contributions of 64 parties, d = 10,000, by one
// worker on one core and by two on two: open, verify, expand, add. MB/s counts shares; where
// others use the cores, too, only the processor time tells: as long as it is the same for
// two workers as for one, two cores do twice the work.
func BenchmarkWorkers(b *testing.B) {
	const parties, dim = 64, 10_000
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			heard := recordWorkers(b, parties, dim, workers)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
			b.SetBytes(parties * dim * 8)
			began := cpu(b)
			for b.Loop() {
				var group sync.WaitGroup
				for w := range workers {
					group.Go(func() { heard.takeIn(b, w) })
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

// recorded is what each worker of a session hears up to its node's first question.
type recorded struct {
	c     *crowd
	heard [][][]byte
	held  []int
}

func recordWorkers(b *testing.B, parties uint32, dim, workers int) *recorded {
	b.Helper()
	c := newCrowdOf(b, parties, dim, workers, false)
	r := &recorded{c: c, heard: make([][][]byte, workers), held: make([]int, workers)}
	asked := false
	c.tap = func(_ *seat, data []byte) [][]byte {
		path, m, err := c.s.OpenWorker(c.group.Secret, data)
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
			r.heard[path.Worker] = append(r.heard[path.Worker], data)
		}
		return [][]byte{data}
	}
	c.between = func(data []byte) {
		e, err := protocol.UnmarshalEnvelope(data)
		chunk, notChunk := protocol.UnmarshalChunk(data)
		for w := range workers {
			mine := func(party uint32) bool { return protocol.WorkerOf(party, uint32(workers)) == uint32(w) }
			if !asked && (err == nil && (e.Kind == protocol.KindRound || e.Kind == protocol.KindContribution && mine(e.From)) ||
				notChunk == nil && chunk.To == parties && mine(chunk.From)) {
				r.heard[w] = append(r.heard[w], data)
			}
		}
	}
	c.run()
	return r
}

// takeIn lets a fresh worker hear all of it.
func (r *recorded) takeIn(b *testing.B, w int) {
	store := host.NewRam()
	s := r.c.s
	batch := protocol.NewBatch(s, rand.Reader)
	s.Verifier = batch
	worker, err := compute.NewWorker(compute.WorkerConfig{Session: s, Node: r.c.parties, Worker: w, Group: r.c.group, Rand: rand.Reader, View: store})
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
			if _, m, err := s.OpenWorker(r.c.group.Secret, o.Data); err == nil {
				if h, ok := m.(*protocol.WorkerHeld); ok {
					held += len(h.Contributions)
				}
			}
		}
	}
	step(protocol.Start{})
	batch.Prepare(r.heard[w])
	for _, data := range r.heard[w] {
		step(protocol.Delivery{Data: data})
	}
	if held != r.held[w] || held == 0 {
		b.Errorf("worker %d holds %d contributions, not %d", w, held, r.held[w])
	}
}
