package compute

import (
	"errors"
	"testing"

	"choir/protocol"
)

// TestNoRoundBeginsUnderAnExpiredPlan: a node refuses to enter an attempt then, and goes on
// with the one that it is in.
func TestNoRoundBeginsUnderAnExpiredPlan(t *testing.T) {
	for _, late := range []bool{false, true} {
		x := newRig(t, 4, 10)
		if x.now = 1000 * x.s.Plan.NotAfter; late {
			x.now += 1000
		}
		eff := x.step(protocol.Delivery{Data: x.sign(x.s.Plan.Aggregator(), &protocol.Round{Round: 1, Attempt: 2})})
		refused := len(eff.Notices) == 1 && errors.Is(eff.Notices[0].Err, protocol.ErrExpired)
		if want := map[bool]uint32{false: 2, true: 1}[late]; refused != late || x.node.attempt != want {
			t.Errorf("late: %t; refused: %t; the node is in attempt %d", late, refused, x.node.attempt)
		}
		if late {
			x.take(1, x.contribution(1))
		}
	}
}
