package compute

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"choir/protocol"
)

// agreeAll delivers the other nodes' agrees, equal to this node's own, and returns the last effects.
func (x *rig) agreeAll() (eff protocol.Effects) {
	x.TB.Helper()
	own := x.node.at.agrees[x.node.self]
	for k := 1; k < rigNodes; k++ {
		eff = x.Deliver(x.Sign(x.Node(k), own))
	}
	return eff
}

// refusedAs reports whether a step has refused something as want.
func refusedAs(eff protocol.Effects, want error) bool {
	for _, n := range eff.Notices {
		if n.Code == protocol.NoteRefused && errors.Is(n.Err, want) {
			return true
		}
	}
	return false
}

// TestRevealedRoundIsNotOpened checks the first guard of one sum a round: another attempt of a round in
// which the node has revealed is refused, also after a restart, and is not kept for later.
func TestRevealedRoundIsNotOpened(t *testing.T) {
	x := newAgreed(t)
	if x.agreeAll(); x.node.at.phase != revealed || x.node.newest != 1 {
		t.Fatalf("the node is %s, and has revealed in round %d", x.node.at.phase, x.node.newest)
	}
	again := x.Sign(x.Session.Plan.Aggregator(), &protocol.Round{Round: 1, Attempt: 2})
	for _, when := range []string{"at once", "after a restart"} {
		eff := x.deliver(again)
		if !refusedAs(eff, protocol.ErrRevealed) || len(eff.Persist) > 0 || len(eff.Send) > 0 ||
			x.node.attempt != 1 || x.node.next != nil {
			t.Errorf("%s: attempt %d, %+v", when, x.node.attempt, eff)
		}
		n, err := New(x.node.cfg)
		if err != nil {
			t.Fatal(err)
		}
		x.node, x.Machine = n, n
		x.step(protocol.Start{})
	}
}

// TestRevealsOnceARound checks the second guard, without the first: a node that has revealed in the
// round, or in a later one, ends and does not reveal though all agree.
func TestRevealsOnceARound(t *testing.T) {
	for newest := range uint32(3) {
		t.Run(fmt.Sprint(newest), func(t *testing.T) {
			x := newAgreed(t)
			x.node.newest = newest
			eff := x.agreeAll()
			if may := newest == 0; may != !eff.Done || may != (len(eff.Send) > 0) {
				t.Errorf("%d messages, the node has ended: %t", len(eff.Send), eff.Done)
			}
			if newest > 0 && !errors.Is(eff.Err, protocol.ErrRevealed) {
				t.Errorf("error %v", eff.Err)
			}
			if stored := x.Store.Keys("partial/"); newest > 0 && len(stored) > 0 {
				t.Errorf("%q are stored", stored)
			}
		})
	}
}

// TestRevealsOverEnoughParties checks that a set below N_min is void for a node, though all agree on it,
// and that one of N_min is revealed.
func TestRevealsOverEnoughParties(t *testing.T) {
	for size := range 4 {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			x := newRig(t, 3, 100)
			x.node.agg = []byte{1}
			x.node.keys.Add(x.Session.Plan.Aggregator(), 1, x.Secret(x.Node(0), x.Session.Plan.Aggregator()))
			list := &protocol.Hold{Round: 1, Attempt: 1}
			for i := range uint32(3) {
				x.receive(i, x.contribution(i))
				if i < uint32(size) {
					list.Entries = append(list.Entries, x.entry(i))
				}
			}
			x.deliver(x.Sign(x.Node(1), list))
			x.deliver(x.Sign(x.Node(2), list))
			eff := x.agreeAll()
			want := void
			if size >= int(x.Session.Plan.MinParties) {
				want = revealed
			}
			if x.node.at.phase != want || eff.Done || (len(eff.Send) > 0) != (want == revealed) {
				t.Errorf("the node is %s and sends %d messages: %v", x.node.at.phase, len(eff.Send), eff.Err)
			}
			if refusedAs(eff, protocol.ErrSmallSet) != (want == void) {
				t.Errorf("notices %+v", eff.Notices)
			}
		})
	}
}

// TestFirstRoundWaits checks which Round a node keeps until the result before it is here: that of the newest
// attempt and, of several for that, the first. Parties contribute to the first one's model, and must not be
// refused for it.
func TestFirstRoundWaits(t *testing.T) {
	x := newAgreed(t)
	x.Session.Plan.Rounds = 2
	x.agreeAll()
	round := func(attempt uint32, model byte) []byte {
		return x.Sign(x.Session.Plan.Aggregator(), &protocol.Round{Round: 2, Attempt: attempt,
			Model: protocol.Digest{model}})
	}
	for _, c := range []struct {
		data, waits []byte
		refused     error
	}{
		{round(1, 1), round(1, 1), nil},
		{round(1, 2), round(1, 1), protocol.ErrEquivocate},
		{round(2, 3), round(2, 3), nil},
		{round(1, 1), round(2, 3), protocol.ErrStale},
	} {
		eff := x.deliver(c.data)
		if c.refused != nil != refusedAs(eff, c.refused) || !bytes.Equal(x.node.next, c.waits) ||
			!bytes.Equal(x.Store["next"], c.waits) {
			t.Errorf("%x waits after %x, %+v", x.node.next, c.data, eff.Notices)
		}
	}
}

// TestAttemptBeyondThePlan checks that a node enters no attempt that the plan does not have: parties refuse
// what it confirms of one.
func TestAttemptBeyondThePlan(t *testing.T) {
	x := newRig(t, 4, 10)
	spares := x.Session.Plan.SpareAttempts
	for _, attempt := range []uint32{spares + 2, spares + 1} {
		eff := x.deliver(x.Sign(x.Session.Plan.Aggregator(), &protocol.Round{Round: 1, Attempt: attempt}))
		if beyond := attempt > spares+1; refusedAs(eff, protocol.ErrMismatch) != beyond ||
			(x.node.attempt == attempt) == beyond {
			t.Errorf("attempt %d: the node is in %d, %+v", attempt, x.node.attempt, eff.Notices)
		}
	}
}
