package party

import (
	"bytes"
	"errors"
	"testing"

	"choir/protocol"
)

// TestReplacedKey checks that a party sets up its channel again when a node's next key is for it, that it
// then sends nothing more of a contribution that used the channel before, and that other keys change
// nothing.
func TestReplacedKey(t *testing.T) {
	r := newRig(t, 100, func(_ *protocol.Plan, c *Config) { c.Ahead = -1 })
	node := r.Node(1)
	key := func(number uint32, public byte, to ...uint32) {
		r.deliver(r.Sign(node, &protocol.Key{Number: number, Public: []byte{byte(node), public}, NotAfter: 1 << 40,
			For: to}))
	}
	r.open(1)
	r.propose(1, make([]int64, 100))
	r.run()
	link := bytes.Clone(r.Store["link/4"])
	sent := len(r.sent)
	key(2, 1, 1, 2) // not for this party
	if !bytes.Equal(r.Store["link/4"], link) || len(r.sent) != sent || r.Store["outbox"] == nil {
		t.Fatal("a key for others changed the channel")
	}
	key(3, 2, 0, 2)
	if bytes.Equal(r.Store["link/4"], link) || len(r.sent) != sent+1 {
		t.Fatal("a key for this party did not change the channel")
	}
	if r.Store["outbox"] != nil || r.Store["memo"] == nil || r.Store["head"] == nil {
		t.Error("the contribution can be derived again, or it cannot be settled")
	}
	for range 2 {
		r.Now += 1 << 20
		sent = len(r.sent)
		r.step(protocol.Tick{})
		for _, b := range r.sent[sent:] {
			if protocol.IsChunk(b) || protocol.Kind(b[0]) == protocol.KindContribution {
				t.Fatal("the contribution was sent again under other keys")
			}
		}
		r.boot()
	}
	sent = len(r.sent)
	if key(2, 1, 0); len(r.sent) != sent {
		t.Error("an earlier key was answered")
	}
	eff := r.Deliver(r.Sign(node, &protocol.Key{Number: 3, Public: []byte{byte(node), 9}, NotAfter: 1 << 40,
		For: []uint32{0}}))
	if len(eff.Notices) != 1 || eff.Notices[0].Code != protocol.NoteRefused {
		t.Errorf("two keys with one number: %v", eff.Notices)
	}
}

// TestOpensNoKeyTwice checks that no owner of a key gets a second Open to it, by which this party would
// contradict itself: not under another number, after another key, after a restart, or as the aggregator.
func TestOpensNoKeyTwice(t *testing.T) {
	r := newRig(t, 100, func(_ *protocol.Plan, c *Config) { c.Ahead = -1 })
	key := func(owner, number uint32, public byte, answered bool) {
		t.Helper()
		sent := len(r.sent)
		eff := r.step(protocol.Delivery{Data: r.Sign(owner, &protocol.Key{Number: number,
			Public: []byte{byte(owner), public}, NotAfter: 1 << 40, For: []uint32{0}})})
		refused := len(eff.Notices) == 1 && errors.Is(eff.Notices[0].Err, protocol.ErrEquivocate)
		if (len(r.sent) > sent) != answered || refused == answered {
			t.Errorf("key %d of %d: answered %t, refused %t", number, owner, len(r.sent) > sent, refused)
		}
	}
	node := r.Node(1)
	key(node, 2, 7, true)
	key(node, 3, 7, false)
	key(node, 4, 8, true)
	key(node, 5, 7, false)
	r.boot()
	key(node, 5, 7, false)
	key(node, 6, 8, false)
	key(r.agg(), 2, 7, false)
}
