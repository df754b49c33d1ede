package aggregator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/internal/roletest"
	"choir/protocol"
)

// rig is an aggregator with one party and two nodes, which the test plays.
type rig struct {
	*roletest.Rig
	a    *Aggregator
	last protocol.Digest // of the last result
}

const (
	rigNodes = 2
	rigSelf  = 1 + rigNodes // member index of the aggregator
	rigEnd   = 100          // the plan's last second, unix time
)

// sumModel is an application whose model is the last sum.
type sumModel struct{}

func (sumModel) Initial() []int64                               { return make([]int64, 2) }
func (sumModel) Fold(_ uint32, _, sum []int64) ([]int64, error) { return sum, nil }

func newRig(t *testing.T) *rig { return newRigOf(t, sumModel{}) }

func newRigOf(t *testing.T, model protocol.Model) *rig {
	t.Helper()
	p := &protocol.Plan{
		Name:              "rig",
		Created:           1,
		NotAfter:          rigEnd,
		Suite:             channel.SuiteX25519,
		Dim:               2,
		Rounds:            2,
		SpareAttempts:     1,
		MinParties:        1,
		UnsafeDifferences: true,
		DeadlineMS:        1000,
		PerParty:          100,
		Application:       "rig",
	}
	r := &rig{Rig: roletest.New(t, p, 1, rigNodes)}
	r.Now = 1000 * (rigEnd - 1)
	if err := r.start(model); err != nil {
		t.Fatal(err)
	}
	return r
}

// start starts the aggregator from the store.
func (r *rig) start(model protocol.Model) (err error) {
	r.a, err = New(Config{
		Session:  r.Session,
		Key:      r.Signers[rigSelf],
		Model:    model,
		Rand:     rand.NewChaCha8([32]byte{1}),
		View:     r.Store,
		ResendMS: 1 << 40,
		Accept: func(_ *channel.PrivateKey, enc, _ []byte) (*channel.Secret, error) {
			return r.Secret(uint32(enc[0]), rigSelf), nil
		},
	})
	if err == nil {
		r.Machine = r.a
		r.Step(protocol.Start{})
	}
	return err
}

// join opens all channels to the aggregator, unless that ends, and returns the effects of the last.
func (r *rig) join() (eff protocol.Effects) {
	key := protocol.KeyDigest(r.Session, rigSelf, r.a.planKey.Public())
	for from := range uint32(rigSelf) {
		eff = r.Send(from, &protocol.Open{To: rigSelf, Key: key, Enc: []byte{byte(from)}})
		if eff.Done {
			break
		}
	}
	return eff
}

// round plays a round to its result: the sum is twice its number, and 3.
func (r *rig) round(number uint32) (eff protocol.Effects) {
	r.TB.Helper()
	eff = r.sums(number, func(set []protocol.Entry) []protocol.Entry { return set })
	if last := r.confirm(number, eff); number == r.Session.Plan.Rounds {
		return last
	}
	return eff
}

// sums plays a round up to the last node's sum, or the aggregator's end. The nodes' lists have one
// set, and they agree to the one that agreed returns of it.
func (r *rig) sums(number uint32, agreed func([]protocol.Entry) []protocol.Entry) (eff protocol.Effects) {
	r.TB.Helper()
	m := &protocol.Contribution{Round: number, Attempt: 1, Last: r.last, Confirm: make([][16]byte, rigNodes)}
	bundle, err := m.BundleDigest(r.Session, 0)
	if err != nil {
		r.TB.Fatal(err)
	}
	set := []protocol.Entry{{Party: 0, Bundle: bundle}}
	digest := protocol.SetDigest(r.Session, number, 1, agreed(slices.Clone(set)))
	r.Send(0, m)
	for k := range rigNodes {
		node := r.Node(k)
		sum := field.AppendVector(nil, field.Vector{field.Element(number), field.Element(node)})
		hash := protocol.NewVectorHash()
		hash.Write(sum)
		r.Send(node, &protocol.Hold{Round: number, Attempt: 1, Last: r.last, Entries: set})
		opening := protocol.Opening{Salt: [32]byte{byte(node)}}
		vector := hash.Digest(opening)
		a := &protocol.Agree{Round: number, Attempt: 1, Count: 1, Set: digest, Partial: vector}
		if eff = r.Send(node, a); eff.Done {
			return eff
		}
		p := &protocol.Partial{Round: number, Attempt: 1, Set: digest, Vector: vector}
		if err := r.Session.SealOpening(r.secret(node, number), node, p, opening); err != nil {
			r.TB.Fatal(err)
		}
		r.Send(node, p)
		eff = r.Deliver(r.chunk(node, number, sum))
	}
	return eff
}

// confirm has the nodes confirm the result that was sent, and returns the effects of the last Confirm.
func (r *rig) confirm(number uint32, sent protocol.Effects) (eff protocol.Effects) {
	r.TB.Helper()
	for _, o := range sent.Send {
		if p, err := protocol.NewResultProof(o.Data); err == nil {
			r.last = p.Digest
		}
	}
	for k := range rigNodes {
		node := r.Node(k)
		f := r.Session.Fingerprint(r.last)
		f.Write(field.Vector{field.Element(number), field.Element(node)})
		value := protocol.Opening{Salt: [32]byte{byte(node)}}.Value(f)
		eff = r.Send(node, &protocol.Confirm{Round: number, Attempt: 1, Result: r.last, Value: value})
	}
	return eff
}

// secret is that of a node's channel in a round.
func (r *rig) secret(node, round uint32) *channel.Secret {
	return protocol.Later(r.Secret(node, rigSelf), round-1)
}

// chunk is a node's sealed partial sum in a round.
func (r *rig) chunk(node, number uint32, sum []byte) []byte {
	r.TB.Helper()
	messages, err := roletest.SealVector(r.Session, r.secret(node, number), protocol.Context{
		From: node, To: rigSelf, Round: number, Attempt: 1, Purpose: protocol.PurposePartial,
	}, sum)
	if err != nil {
		r.TB.Fatal(err)
	}
	return messages[0]
}

// recorded returns the kinds of the transcript's entries.
func (r *rig) recorded() (kinds []protocol.Kind) {
	r.TB.Helper()
	for i := range r.a.recorded {
		if b := r.Store[fmt.Sprintf("transcript/%08d", i)]; len(b) > 0 {
			kinds = append(kinds, protocol.Kind(b[0]))
		} else {
			r.TB.Errorf("entry %d of the transcript is empty", i)
		}
	}
	return kinds
}
