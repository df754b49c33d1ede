package aggregator

import (
	"errors"
	"slices"
	"testing"

	"choir/protocol"
)

// TestNoRoundBeginsUnderAnExpiredPlan checks that neither the first round nor a later one opens
// after the plan's end. A round that is open when the plan expires is still settled. Then the
// session ends with an abort, and its transcript has the round once.
func TestNoRoundBeginsUnderAnExpiredPlan(t *testing.T) {
	const vector = protocol.Kind(64)
	start := []protocol.Kind{protocol.KindKey, 65, protocol.KindOpen, protocol.KindOpen, protocol.KindOpen}
	round := []protocol.Kind{
		protocol.KindRound, protocol.KindContribution,
		protocol.KindHold, protocol.KindHold, protocol.KindAgree, protocol.KindAgree,
		protocol.KindPartial, vector, protocol.KindPartial, vector, protocol.KindResult,
	}
	abort := []protocol.Kind{protocol.KindAbort}
	confirms := []protocol.Kind{protocol.KindConfirm, protocol.KindConfirm}
	const late = 1000 * (rigEnd + 1)
	for _, c := range []struct {
		name      string
		expires   uint32 // in this round; 0: before the first
		completes bool
		want      []protocol.Kind
	}{
		{name: "before the first round", expires: 0, want: slices.Concat(start[:3], abort)},
		{name: "in the first round", expires: 1, want: slices.Concat(start, round, abort)},
		{name: "in the last round", expires: 2, completes: true,
			want: slices.Concat(start, round, round[:1], confirms, round[1:], confirms)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.expires == 0 {
				r.Now = late
			}
			eff := r.join()
			for n := uint32(1); n <= 2 && !eff.Done; n++ {
				if n == c.expires {
					r.Now = late
				}
				eff = r.round(n)
			}
			if !eff.Done || c.completes != (eff.Err == nil) {
				t.Errorf("done %t, %v", eff.Done, eff.Err)
			}
			if !c.completes && !errors.Is(eff.Err, protocol.ErrExpired) {
				t.Errorf("error %v, want %v", eff.Err, protocol.ErrExpired)
			}
			if have := r.recorded(); !slices.Equal(have, c.want) {
				t.Errorf("the transcript has the kinds %d, want %d", have, c.want)
			}
		})
	}
}

// TestExpiryEndsTheWait: an aggregator that waits for members ends the session when the plan expires.
// One with an open attempt waits as long as that may be settled.
func TestExpiryEndsTheWait(t *testing.T) {
	for _, opened := range []bool{false, true} {
		r := newRig(t)
		if opened {
			r.join()
		}
		ends := r.Session.Plan.Expiry()
		if opened {
			ends = r.Session.Plan.Settles(r.Now)
		}
		r.Now = ends - 1
		if eff := r.Step(protocol.Tick{}); eff.Done || eff.Wake != ends {
			t.Fatalf("opened: %t: done %t (%v), the next tick in %d ms", opened, eff.Done, eff.Err, eff.Wake-r.Now)
		}
		r.Now = ends
		eff := r.Step(protocol.Tick{})
		if !errors.Is(eff.Err, protocol.ErrExpired) || protocol.ClassOf(eff.Err) != protocol.ClassIntegrity {
			t.Fatalf("opened: %t: %v", opened, eff.Err)
		}
		_, m, err := r.Session.Receive(eff.Send[len(eff.Send)-1].Data)
		if err != nil {
			t.Fatal(err)
		}
		abort, ok := m.(*protocol.Abort)
		if !ok || !errors.Is(abort.Cause(), protocol.ErrExpired) {
			t.Errorf("opened: %t: the members hear %+v", opened, m)
		}
	}
}
