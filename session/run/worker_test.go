package run_test

import (
	"fmt"
	mathrand "math/rand/v2"
	"sync/atomic"
	"testing"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
)

// workersSum runs a sum of n random vectors with workers at every node, and checks it.
// Parties from stay on leave after the first round.
func workersSum(t *testing.T, l *run.Local, rng *mathrand.Rand, rounds uint32) {
	t.Helper()
	p := l.Session.Plan
	vectors, want := make([][]int64, p.Parties()), make([]int64, p.Dim)
	for i := range vectors {
		vectors[i] = make([]int64, p.Dim)
		for j := range vectors[i] {
			vectors[i][j] = rng.Int64N(2001) - 1000
			want[j] += vectors[i][j]
		}
	}
	rig.Sums(l, vectors)
	var held atomic.Int64
	l.Notify = func(_ uint32, n protocol.Notice) {
		if n.Code == protocol.NoteHeld {
			held.Add(1)
		}
	}
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for j := range want {
		if r.Model[j] != want[j] {
			t.Fatalf("coordinate %d: %d, want %d", j, r.Model[j], want[j])
		}
	}
	if want := int64(p.Parties() * p.Computes() * int(rounds)); held.Load() != want {
		t.Errorf("contributions were counted %d times, not %d", held.Load(), want)
	}
}

// TestSumWithWorkers: nodes of one, two and four workers give the exact sum, over both
// transports, with vectors of several chunks and with more workers than parties.
func TestSumWithWorkers(t *testing.T) {
	rng := mathrand.New(mathrand.NewPCG(6, 3))
	for _, c := range []struct {
		parties, workers, dim int
		nats                  bool
	}{{9, 1, 5, false}, {9, 2, 5, false}, {9, 4, 5, false}, {2, 7, 3, false}, {5, 2, 1<<16 + 9, false}, {9, 2, 5,
		true}, {5, 4, 1<<16 + 9, true}} {
		t.Run(fmt.Sprintf("N=%d,K=%d,d=%d,nats=%t", c.parties, c.workers, c.dim, c.nats), func(t *testing.T) {
			list, keys := rig.Members(t, c.parties, 2)
			p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: c.dim, PerParty: 1 << 40})
			if err != nil {
				t.Fatal(err)
			}
			p.Rounds = 2 // a plan of sums has one
			l := rig.Local(t, p, keys)
			if l.Workers = c.workers; c.nats {
				rig.OverNATS(t, l)
			}
			workersSum(t, l, rng, p.Rounds)
		})
	}
}
