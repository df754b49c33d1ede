package compute

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/internal/roletest"
	"choir/protocol"
)

// keyRig is a node of two, with real keys, of three parties that the test plays.
type keyRig struct {
	*roletest.Rig
	node *Node
	keys []*protocol.Key // announced, in order
}

func newKeyRig(t *testing.T) *keyRig {
	t.Helper()
	p := &protocol.Plan{Name: "keys", Created: 1, NotAfter: 1 << 40, Suite: channel.SuiteX25519, Dim: 1,
		Rounds: 9, MinParties: 1, UnsafeDifferences: true, DeadlineMS: 1000, PerParty: 9, Application: "keys"}
	r := &keyRig{Rig: roletest.New(t, p, 3, 2)}
	r.start()
	return r
}

func (r *keyRig) start() {
	r.TB.Helper()
	var err error
	r.node, err = New(Config{Session: r.Session, Key: r.Signers[3], Rand: rand.NewChaCha8([32]byte{2}),
		View: r.Store, ResendMS: 1 << 40})
	if err != nil {
		r.TB.Fatal(err)
	}
	r.Machine = r.node
	r.note(r.Step(protocol.Start{}))
}

// note keeps the keys that the node announces, and returns the notices.
func (r *keyRig) note(eff protocol.Effects) []protocol.Notice {
	r.TB.Helper()
	for _, o := range eff.Send {
		_, m, err := r.Session.Receive(o.Data)
		if k, ok := m.(*protocol.Key); err == nil && ok {
			r.keys = append(r.keys, k)
		}
	}
	return eff.Notices
}

// open lets a party open a channel to a key.
func (r *keyRig) open(party uint32, k *protocol.Key) []protocol.Notice {
	r.TB.Helper()
	digest := protocol.KeyDigest(r.Session, 3, k.Public)
	info := r.Session.ChannelInfo(party, 3, digest)
	enc, _, err := channel.Initiate(r.Session.Plan.Suite, k.Public, info)
	if err != nil {
		r.TB.Fatal(err)
	}
	return r.note(r.Send(party, &protocol.Open{To: 3, Key: digest, Enc: enc}))
}

func (r *keyRig) round(n uint32) {
	r.note(r.Send(5, &protocol.Round{Round: n, Attempt: 1}))
}

// settle ends a round, as if the node had revealed in it, and returns its Confirm.
func (r *keyRig) settle(n uint32) (c *protocol.Confirm) {
	r.TB.Helper()
	r.node.eff = &r.node.effects // of the next step
	r.node.setPhase(revealed)
	m := &protocol.Result{Round: n, Attempt: 1}
	if err := r.node.settle(m, protocol.Digest{}, protocol.Value{}); err != nil {
		r.TB.Fatal(err)
	}
	eff := r.Step(protocol.Tick{})
	r.note(eff)
	for _, o := range eff.Send {
		if _, m, err := r.Session.Receive(o.Data); err == nil {
			if m, ok := m.(*protocol.Confirm); ok {
				c = m
			}
		}
	}
	return c
}

// TestPlanKeyIsErased checks that a node keeps its plan key only until all parties have a channel, also
// over restarts, and that it replaces the key, and says so, when a round ends without one of them.
func TestPlanKeyIsErased(t *testing.T) {
	r := newKeyRig(t)
	first := r.keys[0]
	r.open(0, first)
	r.open(1, first)
	stored := string(r.Store["plan-key"])
	if r.round(1); stored == "" || string(r.Store["plan-key"]) != stored {
		t.Fatal("the key of the first round was not kept")
	}
	if r.start(); r.keys[len(r.keys)-1].Number != 1 {
		t.Fatal("another key after a restart")
	}
	confirm := r.settle(1)
	second := r.keys[len(r.keys)-1]
	if second.Number != 2 || !slices.Equal(second.For, []uint32{2}) || string(r.Store["plan-key"]) == stored {
		t.Fatalf("after round 1 the key has number %d, for %v", second.Number, second.For)
	}
	if confirm.Key != 2 || !slices.Equal(confirm.For, second.For) {
		t.Errorf("round 1 is confirmed with key %d for %v", confirm.Key, confirm.For)
	}
	r.round(2)
	before := len(r.keys)
	if n := r.open(2, first); len(n) > 0 || len(r.keys) != before+1 || r.node.keys.Has(2) {
		t.Errorf("a late open to the first key: notices %v, %d keys sent", n, len(r.keys)-before)
	}
	if c := r.settle(2); c.Key != 0 || len(c.For) > 0 || r.keys[len(r.keys)-1].Number != 2 {
		t.Error("a key that nobody used was replaced")
	}
	r.round(3)
	if r.start(); r.Store["plan-key"] == nil {
		t.Error("the second key was lost")
	}
	if r.open(2, second); r.Store["plan-key"] != nil || !r.node.keys.Has(2) {
		t.Error("the key is there after all parties have a channel")
	}
	r.start()
	r.settle(3)
	if r.round(4); r.Store["plan-key"] != nil || r.node.joined != 3 {
		t.Errorf("after a restart it has a key, or %d channels", r.node.joined)
	}
	if r.node.keys.Round() != 4 || r.node.keys.Secret(0, 3) != nil {
		t.Error("the node has secrets of a round that is over")
	}
}
