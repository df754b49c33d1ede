package compute

import (
	"errors"
	"testing"

	"choir/protocol"
)

// TestNoRoundBeginsUnderAnExpiredPlan checks that a node does not enter an attempt after the plan's
// end, and continues with the present one.
func TestNoRoundBeginsUnderAnExpiredPlan(t *testing.T) {
	for _, c := range []struct {
		name    string
		late    int64 // ms after the plan's end
		attempt uint32
	}{
		{name: "in the last second", late: 0, attempt: 2},
		{name: "after it", late: 1000, attempt: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newRig(t, 4, 10)
			x.Now = 1000*x.Session.Plan.NotAfter + c.late
			eff := x.deliver(x.Sign(x.Session.Plan.Aggregator(), &protocol.Round{Round: 1, Attempt: 2}))
			refused := len(eff.Notices) == 1 && errors.Is(eff.Notices[0].Err, protocol.ErrExpired)
			if refused != (c.attempt == 1) || x.node.attempt != c.attempt {
				t.Errorf("refused: %t; the node is in attempt %d, want %d", refused, x.node.attempt, c.attempt)
			}
			if refused {
				x.receive(1, x.contribution(1))
			}
		})
	}
}

// TestExpiryEndsTheWait: a node that hears nothing after the plan's end stops, and keeps its store.
func TestExpiryEndsTheWait(t *testing.T) {
	x := newRig(t, 4, 10)
	x.Now = x.Session.Plan.Leaves(0) - 1
	if eff := x.step(protocol.Tick{}); eff.Wake != x.Now+1 {
		t.Errorf("the next tick in %d ms", eff.Wake-x.Now)
	}
	x.Now++
	eff := x.Step(protocol.Tick{})
	if !errors.Is(eff.Err, protocol.ErrExpired) || protocol.ClassOf(eff.Err) != protocol.ClassIntegrity {
		t.Errorf("done: %t, %v", eff.Done, eff.Err)
	}
	if x.Store["done"] != nil || x.Store["round"] == nil {
		t.Error("the store is not kept")
	}
}
