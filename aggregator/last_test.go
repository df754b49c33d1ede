package aggregator

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"choir/protocol"
)

// otherModel is an application whose model is not the sum, or one that rejects the sum.
type otherModel struct {
	sumModel
	rejects bool
}

func (f otherModel) Fold(_ uint32, model, sum []int64) ([]int64, error) {
	if f.rejects {
		return nil, errors.New("not this one")
	}
	return []int64{model[0] + sum[0] + 1, model[1] + sum[1] - 1<<40}, nil
}

// TestLastResultIsResent checks that after each restart the aggregator resends the messages of the
// last result unchanged. As long as the group key exists the chunks are sealed again; afterwards
// they are on record.
func TestLastResultIsResent(t *testing.T) {
	for name, model := range map[string]protocol.Model{
		"the sum is the model":       sumModel{},
		"the sum leads to the model": otherModel{},
		"the sum is rejected":        otherModel{rejects: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, model)
			r.join()
			for round := uint32(1); round <= 2; round++ {
				r.round(round)
				want, now := r.a.last, r.a.model
				if len(want) < 2 || !protocol.IsChunk(want[1].Data) {
					t.Fatalf("round %d: no result with a chunk was sent", round)
				}
				for restart := range 3 {
					if err := r.start(model); err != nil {
						t.Fatalf("round %d, restart %d: %v", round, restart, err)
					}
					if diff := cmp.Diff(want, r.a.last); diff != "" {
						t.Fatalf("round %d, restart %d: other messages:\n%s", round, restart, diff)
					}
					if !slices.Equal(r.a.model, now) {
						t.Fatalf("round %d, restart %d: the model is %v, want %v", round, restart, r.a.model, now)
					}
				}
				_, sum := r.Store[sumKey]
				if hasGroup := r.Store["group"] != nil; sum != (round == 1) || hasGroup != (round == 1) {
					t.Errorf("round %d: the sum is on record: %t, the group key: %t", round, sum, hasGroup)
				}
			}
		})
	}
}

// TestDamagedSumIsRefused checks that only the aggregate that was signed is sealed under its
// nonces.
func TestDamagedSumIsRefused(t *testing.T) {
	for name, damage := range map[string][]byte{
		"another sum":     protocol.PackInts([]int64{0, 1}),
		"one too long":    protocol.PackInts([]int64{0, 0, 0}),
		"no packed form":  {1, 2, 3},
		"none: the model": {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, otherModel{})
			r.join()
			r.round(1)
			r.Store[sumKey] = damage
			if err := r.start(otherModel{}); err == nil {
				t.Error("accepted as the aggregate")
			}
		})
	}
}

// TestNoSumAfterAVoidAttempt checks that a void result has no aggregate, and that none is sealed
// after a restart.
func TestNoSumAfterAVoidAttempt(t *testing.T) {
	for name, model := range map[string]protocol.Model{
		"the sum is the model":       sumModel{},
		"the sum leads to the model": otherModel{},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, model)
			r.join()
			r.round(1)
			for k := range rigNodes {
				r.Send(r.Node(k), &protocol.Hold{Round: 2, Attempt: 1})
			}
			for k := range rigNodes {
				empty := protocol.SetDigest(r.Session, 2, 1, nil)
				r.Send(r.Node(k), &protocol.Agree{Round: 2, Attempt: 1, Set: empty})
			}
			want := r.a.last
			if len(want) != 1 || r.a.at.number != 2 {
				t.Fatalf("no void attempt: %d messages, attempt %d", len(want), r.a.at.number)
			}
			if err := r.start(model); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.a.last); diff != "" {
				t.Errorf("other messages:\n%s", diff)
			}
		})
	}
}

// TestEndForAll: an aggregator that is to end the session tells the members why, whether a round is open or
// not, and ends in the same way when it is started again.
func TestEndForAll(t *testing.T) {
	for _, opened := range []bool{false, true} {
		r := newRig(t)
		if opened {
			r.join()
		}
		cfg := r.a.cfg
		cfg.End = protocol.Fail(protocol.ClassQuorum, "the study was withdrawn")
		for range 2 {
			a, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r.Machine = a
			eff := r.Step(protocol.Start{})
			if !eff.Done || eff.Err == nil || eff.Err.Error() != cfg.End.Error() || len(eff.Send) == 0 {
				t.Fatalf("opened: %t: done %t, %v", opened, eff.Done, eff.Err)
			}
			_, m, err := r.Session.Receive(eff.Send[len(eff.Send)-1].Data)
			want := &protocol.Abort{Class: uint8(protocol.ClassQuorum), Reason: "the study was withdrawn"}
			if diff := cmp.Diff(protocol.Message(want), m); err != nil || diff != "" {
				t.Errorf("opened: %t: %v %s", opened, err, diff)
			}
		}
	}
}
