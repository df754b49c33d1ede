package party

import (
	"errors"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/internal/roletest"
	"choir/protocol"
)

// TestEndDeletesTheContribution: when the aggregator ends the session, the party deletes its keys
// and what its contribution is derived from. A later reader of the store could otherwise remove
// the noise from a recorded contribution.
func TestEndDeletesTheContribution(t *testing.T) {
	for _, contributed := range []bool{false, true} {
		r := newRig(t, 50, func(*protocol.Plan, *Config) {})
		r.open(1)
		if contributed {
			r.propose(1, someUpdate(50))
		}
		if had := r.Store["outbox"] != nil && r.Store["memo"] != nil && r.Store["head"] != nil; had != contributed {
			t.Fatalf("contributed: %t, stored: %t", contributed, had)
		}
		eff := r.ends(protocol.Delivery{Data: r.Sign(r.agg(), &protocol.Abort{Class: 5, Reason: "enough"})})
		if !eff.Done || protocol.ClassOf(eff.Err) != protocol.ClassQuorum {
			t.Fatalf("the party ends with %v", eff.Err)
		}
		for key := range r.Store {
			for _, secret := range []string{"outbox", "memo", "head", "want", "group", "link/"} {
				if strings.HasPrefix(key, secret) {
					t.Errorf("contributed: %t: %s is still there", contributed, key)
				}
			}
		}
		if eff := r.ends(protocol.Tick{}); len(eff.Send) > 0 || len(eff.Persist) > 0 {
			t.Error("a party goes on after the end of the session")
		}
	}
}

// published returns an aggregate as the aggregator, or any other holder of the group key, seals it.
func (r *rig) published(sum []int64) [][]byte {
	group, err := channel.NewSecret(make([]byte, 32)) // the rig's group key
	if err != nil {
		r.TB.Fatal(err)
	}
	c := protocol.Context{From: r.agg(), To: protocol.Everyone, Round: 1, Attempt: 1,
		Purpose: protocol.PurposeResult}
	messages, err := roletest.SealVector(r.cfg.Session, group, c, protocol.AppendInts(nil, sum))
	if err != nil {
		r.TB.Fatal(err)
	}
	return messages
}

// TestForgedChunkCostsNoMemory: for a chunk that does not open the party keeps neither a vector
// nor a hasher of 10 KiB, for any attempt that the chunk names.
func TestForgedChunkCostsNoMemory(t *testing.T) {
	r := newRig(t, 50, func(p *protocol.Plan, _ *Config) { p.SpareAttempts = 3 })
	for attempt := range uint32(4) {
		c := &protocol.Chunk{Plan: r.cfg.Session.ID.Prefix(), Last: true,
			Ciphertext: make([]byte, 50*8+channel.Overhead),
			Context: protocol.Context{From: r.agg(), To: protocol.Everyone, Round: 1, Attempt: attempt + 1,
				Purpose: protocol.PurposeResult}}
		b, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if eff := r.step(protocol.Delivery{Data: b}); len(eff.Notices) != 1 || len(eff.Persist) > 0 {
			t.Fatalf("attempt %d: %+v", attempt+1, eff)
		}
	}
	for at, res := range r.p.results {
		if res.sum != nil || res.packer != nil {
			t.Errorf("round %d attempt %d has a vector of %d coordinates, a hasher: %t", at.round, at.attempt,
				len(res.sum), res.packer != nil)
		}
	}
}

// TestExpiredPlan: under an expired plan a party does not contribute, and settles what it has
// contributed to.
func TestExpiredPlan(t *testing.T) {
	for _, late := range []bool{false, true} {
		r := newRig(t, 50, func(p *protocol.Plan, c *Config) { c.ResendMS = 1 << 60 })
		if r.Now = 1000 * r.cfg.Session.Plan.NotAfter; late {
			r.Now += 1000
		}
		eff := r.open(1)
		refused := len(eff.Notices) == 1 && errors.Is(eff.Notices[0].Err, protocol.ErrExpired)
		if refused != late || (eff.Propose == nil) != late {
			t.Errorf("late: %t; refused: %t; asked to compute: %t", late, refused, eff.Propose != nil)
		}
	}
}

// TestNoReceiptBeforeTheManifest: while chunks are still being sent no node can have the
// contribution, and a receipt for it is rejected.
func TestNoReceiptBeforeTheManifest(t *testing.T) {
	const dim = 3 * 65536
	r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead, c.Window = -1, 1 })
	r.open(1)
	r.propose(1, make([]int64, dim))
	if r.p.own == nil || r.p.own.manifest != nil {
		t.Fatal("the contribution was sent completely")
	}
	for k := range rigNodes {
		eff := r.step(protocol.Delivery{Data: r.Sign(r.Node(k),
			&protocol.Receipt{Round: 1, Attempt: 1, Party: 0, Count: 1})})
		if len(r.p.own.receipts) > 0 || len(eff.Notices) != 1 ||
			!errors.Is(eff.Notices[0].Err, protocol.ErrMismatch) {
			t.Fatalf("node %d's receipt for nothing counts: %+v", k, eff.Notices)
		}
	}
	r.run()
	if r.Store["outbox"] == nil || r.Store["head"] == nil {
		t.Error("the contribution is gone")
	}
}

// TestExpiryEndsTheWait: a party that hears nothing after the plan's end stops, and keeps its store.
func TestExpiryEndsTheWait(t *testing.T) {
	r := newRig(t, 50, func(p *protocol.Plan, c *Config) { c.ResendMS = 1 << 60 })
	r.open(1)
	r.propose(1, someUpdate(50))
	r.Now = r.cfg.Session.Plan.Leaves(0) - 1
	if eff := r.step(protocol.Tick{}); eff.Wake != r.Now+1 {
		t.Errorf("the next tick in %d ms", eff.Wake-r.Now)
	}
	r.Now++
	eff := r.ends(protocol.Tick{})
	if !errors.Is(eff.Err, protocol.ErrExpired) || protocol.ClassOf(eff.Err) != protocol.ClassIntegrity {
		t.Errorf("done: %t, %v", eff.Done, eff.Err)
	}
	if r.Store["done"] != nil || r.Store["outbox"] == nil {
		t.Error("the store is not kept")
	}
}
