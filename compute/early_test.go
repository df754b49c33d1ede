package compute

import (
	"errors"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
)

// TestEarlyIsBounded sends a worker messages that are early: it keeps no more of them, by number and by
// size, than its bounds, and a restarted worker counts those that it has.
func TestEarlyIsBounded(t *testing.T) {
	for _, c := range []struct {
		name      string
		dim, want int
	}{
		{"number", 2, earlyMessages},
		{"size", 1 << 15, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, store := newRig(t, 8, c.dim), host.NewRam()
			data, _ := x.sealChunk(x.explicitParty(), 0, func(plain []byte) { clear(plain) })
			if c.want == 0 {
				c.want = earlyBytes / len(data)
			}
			secret, err := channel.NewSecret(make([]byte, channel.SecretSize))
			if err != nil {
				t.Fatal(err)
			}
			restarted := func() *Worker {
				w, err := NewWorker(WorkerConfig{Session: x.Session, Node: x.Node(0), View: store,
					Group: Group{Workers: 1, Secret: secret}.Worker(0), Rand: rand.NewChaCha8([32]byte{2})})
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			w := restarted()
			for i := range c.want + 20 {
				if i == c.want-5 {
					w = restarted()
				}
				eff := w.Step(1, protocol.Delivery{Data: data, More: true})
				if eff.Done {
					t.Fatal(eff.Err)
				}
				if err := store.Apply(eff.Persist); err != nil {
					t.Fatal(err)
				}
			}
			if kept := len(store.Keys("early/")); kept != c.want {
				t.Errorf("%d messages of %d bytes are kept, want %d", kept, len(data), c.want)
			}
		})
	}
}

// TestLinksOfNoRound: channels of a round beyond the plan are refused and change nothing. A keyring that
// followed them to round 2^32 - 1 would hash for an hour.
func TestLinksOfNoRound(t *testing.T) {
	x := newRig(t, 8, 2)
	secret, err := channel.NewSecret(make([]byte, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorker(WorkerConfig{Session: x.Session, Node: x.Node(0), View: host.NewRam(),
		Group: Group{Workers: 1, Secret: secret}.Worker(0), Rand: rand.NewChaCha8([32]byte{2})})
	if err != nil {
		t.Fatal(err)
	}
	w.eff = &protocol.Effects{}
	last := x.Session.Plan.Rounds + 1
	links := &protocol.WorkerLinks{Round: last + 1, Parties: []uint32{0}, Secrets: []*channel.Secret{secret}}
	if err := w.links(links); !errors.Is(err, protocol.ErrMismatch) || w.keys.Round() != 1 || w.keys.Has(0) {
		t.Errorf("round %d: %v, the keyring is at round %d", links.Round, err, w.keys.Round())
	}
	links.Round = last
	if err := w.links(links); err != nil || w.keys.Round() != last || !w.keys.Has(0) {
		t.Errorf("round %d: %v, the keyring is at round %d", links.Round, err, w.keys.Round())
	}
}
