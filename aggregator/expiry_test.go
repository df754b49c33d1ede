package aggregator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/identity"
	"choir/protocol"
)

// rig is an aggregator with one party and two nodes that the test plays.
type rig struct {
	t     *testing.T
	a     *Aggregator
	s     protocol.BoundPlan
	keys  []*identity.PrivateKey
	store map[string][]byte
	now   int64
}

// rigEnd is the plan's last second, unix time.
const rigEnd = 100

type flat struct{}

func (flat) Initial() []int64                               { return make([]int64, 2) }
func (flat) Fold(_ uint32, _, sum []int64) ([]int64, error) { return sum, nil }
func (r *rig) Get(key string) []byte                        { return r.store[key] }

// Keys implements protocol.View.
func (r *rig) Keys(prefix string) (keys []string) {
	for k := range r.store {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// secret is the channel secret of a node to the aggregator.
func (r *rig) secret(node uint32) *channel.Secret {
	s, err := channel.NewSecret(slices.Repeat([]byte{byte(node)}, channel.SecretSize))
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) step(ev protocol.Event) protocol.Effects {
	eff := r.a.Step(r.now, ev)
	for _, rec := range eff.Persist {
		if r.store[rec.Key] = rec.Value; rec.Value == nil {
			delete(r.store, rec.Key)
		}
	}
	return eff
}

func (r *rig) says(from uint32, m protocol.Message) protocol.Effects {
	b, err := r.s.Sign(r.keys[from], from, m)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.step(protocol.Delivery{Data: b})
}

func newRig(t *testing.T) *rig { return newRigOf(t, flat{}) }

func newRigOf(t *testing.T, model protocol.Model) *rig {
	r := &rig{t: t, store: map[string][]byte{}, now: 1000 * (rigEnd - 1)}
	p := &protocol.Plan{Name: "rig", Created: 1, NotAfter: rigEnd, Suite: channel.SuiteX25519, Dim: 2, Rounds: 2, SpareAttempts: 1, MinParties: 1,
		DeadlineMS: 1000, PerParty: 100, Application: "rig"}
	for i, role := range []protocol.Role{1, 2, 2, 3} {
		r.keys = append(r.keys, identity.FromSeed([32]byte{byte(i + 1)}))
		p.Members = append(p.Members, protocol.Member{Name: string(rune('a' + i)), Role: role, Key: r.keys[i].Public(), NotAfter: rigEnd})
	}
	r.s = protocol.Bind(p)
	if err := r.start(model); err != nil {
		t.Fatal(err)
	}
	return r
}

// start begins a life of the aggregator with what is in the store.
func (r *rig) start(model protocol.Model) (err error) {
	r.a, err = New(Config{Session: r.s, Key: r.keys[3], Model: model, Rand: rand.NewChaCha8([32]byte{1}), View: r, ResendMS: 1 << 40,
		Accept: func(_ *channel.PrivateKey, enc, _ []byte) (*channel.Secret, error) {
			return r.secret(uint32(enc[0])), nil
		}})
	if err == nil {
		r.step(protocol.Start{})
	}
	return err
}

// join opens all channels to the aggregator and returns what the last of them brings about.
func (r *rig) join() (eff protocol.Effects) {
	key := protocol.KeyDigest(r.s, 3, r.a.planKey.Public())
	for from := range uint32(3) {
		eff = r.says(from, &protocol.Open{To: 3, Key: key, Enc: []byte{byte(from)}})
	}
	return eff
}

// round plays a round to its result: the sum is twice its number, and 3.
func (r *rig) round(number uint32) (eff protocol.Effects) {
	m := &protocol.Contribution{Round: number, Attempt: 1, Confirm: make([][16]byte, 2)}
	bundle, err := m.BundleDigest(r.s, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	set := []protocol.Entry{{Party: 0, Bundle: bundle}}
	digest := protocol.SetDigest(r.s, number, 1, set)
	r.says(0, m)
	for node := uint32(1); node <= 2; node++ {
		share := field.AppendVector(nil, field.Vector{field.Element(number), field.Element(node)})
		hash := protocol.NewVectorHash()
		hash.Write(share)
		r.says(node, &protocol.Hold{Round: number, Attempt: 1, Entries: set})
		r.says(node, &protocol.Agree{Round: number, Attempt: 1, Count: 1, Set: digest})
		r.says(node, &protocol.Partial{Round: number, Attempt: 1, Set: digest, Vector: hash.Digest()})
		eff = r.step(protocol.Delivery{Data: r.part(node, number, share)})
	}
	return eff
}

// part is a node's sealed partial sum in a round.
func (r *rig) part(node, number uint32, share []byte) []byte {
	chunks, err := r.s.SealVector(r.secret(node), protocol.Context{From: node, To: 3, Round: number, Attempt: 1, Purpose: protocol.PurposePartial}, share)
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := chunks[0].Marshal()
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// recorded are the kinds of the transcript's entries.
func (r *rig) recorded() (kinds []protocol.Kind) {
	for i := range r.a.recorded {
		if b := r.store[fmt.Sprintf("transcript/%08d", i)]; len(b) > 0 {
			kinds = append(kinds, protocol.Kind(b[0]))
		} else {
			r.t.Errorf("entry %d of the transcript is empty", i)
		}
	}
	return kinds
}

// TestNoRoundBeginsUnderAnExpiredPlan: neither the first nor a later one. A round that is
// open when the plan expires is still settled; then the session ends, says so, and its
// transcript has the round once.
func TestNoRoundBeginsUnderAnExpiredPlan(t *testing.T) {
	const vector = protocol.Kind(64)
	attempt := []protocol.Kind{protocol.KindContribution, protocol.KindHold, protocol.KindHold, protocol.KindAgree, protocol.KindAgree,
		protocol.KindPartial, vector, protocol.KindPartial, vector, protocol.KindResult}
	start := []protocol.Kind{protocol.KindKey, protocol.KindOpen, protocol.KindOpen, protocol.KindOpen}
	for _, c := range []struct {
		expires string
		want    []protocol.Kind
	}{
		{"before the first round", slices.Concat(start, []protocol.Kind{protocol.KindAbort})},
		{"in the first round", slices.Concat(start, []protocol.Kind{protocol.KindRound}, attempt, []protocol.Kind{protocol.KindAbort})},
		{"in the last round", slices.Concat(start, []protocol.Kind{protocol.KindRound}, attempt, []protocol.Kind{protocol.KindRound}, attempt)},
	} {
		r, late := newRig(t), int64(1000*(rigEnd+1))
		if c.expires == "before the first round" {
			r.now = late
		}
		eff := r.join()
		if c.expires == "in the first round" {
			r.now = late
		}
		for round := uint32(1); round <= 2 && !eff.Done; round++ {
			if eff = r.round(round); round == 1 && c.expires == "in the last round" {
				r.now = late
			}
		}
		if completes := c.expires == "in the last round"; !eff.Done || completes != (eff.Err == nil) || !completes && !errors.Is(eff.Err, protocol.ErrExpired) {
			t.Errorf("%s: done %t, %v", c.expires, eff.Done, eff.Err)
		}
		if have := r.recorded(); !slices.Equal(have, c.want) {
			t.Errorf("%s: the transcript has the kinds %d, not %d", c.expires, have, c.want)
		}
	}
}
