// Package roletest is what the tests of the roles have in common. A Rig drives one member's
// machine, keeps its durable state, and plays all other members: it knows their keys and the
// secrets of their channels.
package roletest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/protocol"
)

// Store is a machine's durable state, which a test may change.
type Store map[string][]byte

// Get implements protocol.View.
func (s Store) Get(key string) []byte { return s[key] }

// Keys implements protocol.View.
func (s Store) Keys(prefix string) (keys []string) {
	for k := range s {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// apply makes a step's records durable. It copies the values, so that a test can damage them.
func (s Store) apply(records []protocol.Record) {
	for _, r := range records {
		if r.Value == nil {
			delete(s, r.Key)
		} else {
			s[r.Key] = slices.Clone(r.Value)
		}
	}
}

// Rig drives one member's machine under a plan.
type Rig struct {
	TB      testing.TB
	Session protocol.BoundPlan
	Signers []protocol.Signer // by member
	Store   Store
	Now     int64 // unix milliseconds
	Machine protocol.Machine
}

// New returns a Rig without a machine, under the plan with a roster of parties, nodes and an
// aggregator, in this order. Their keys are derived from their indices.
func New(tb testing.TB, p *protocol.Plan, parties, nodes int) *Rig {
	return newRig(tb, p, parties, nodes, func(i int) protocol.Signer {
		return identity.FromSeed(numbered(1, i))
	})
}

// NewUnsigned is New with signatures that are empty and always valid, for tests of sizes at
// which real ones take too long.
func NewUnsigned(tb testing.TB, p *protocol.Plan, parties, nodes int) *Rig {
	r := newRig(tb, p, parties, nodes, func(i int) protocol.Signer {
		return unsigned{identity.PublicKey(numbered(1, i))}
	})
	r.Session.Verifier = unsigned{}
	return r
}

func newRig(tb testing.TB, p *protocol.Plan, parties, nodes int, signer func(i int) protocol.Signer) *Rig {
	tb.Helper()
	r := &Rig{TB: tb, Store: Store{}, Now: 1000}
	for i := range parties + nodes + 1 {
		m := protocol.Member{Name: fmt.Sprintf("m%06d", i), Role: protocol.RoleParty, NotAfter: p.NotAfter}
		switch {
		case i == parties+nodes:
			m.Role = protocol.RoleAggregator
		case i >= parties:
			m.Role = protocol.RoleCompute
		}
		r.Signers = append(r.Signers, signer(i))
		m.Key = r.Signers[i].Public()
		p.Members = append(p.Members, m)
	}
	r.Session = protocol.Bind(p)
	return r
}

// unsigned is every member's key.
type unsigned struct{ key identity.PublicKey }

func (u unsigned) Public() identity.PublicKey                               { return u.key }
func (unsigned) Sign([]byte) (sig identity.Signature)                       { return sig }
func (unsigned) Verify(identity.PublicKey, []byte, identity.Signature) bool { return true }

func numbered(kind byte, i int) (k [32]byte) {
	k[0] = kind
	binary.BigEndian.PutUint32(k[1:], uint32(i))
	return k
}

// Node returns the member index of the k-th compute node.
func (r *Rig) Node(k int) uint32 { return uint32(r.Session.Plan.Parties() + k) }

// Secret returns the secret of the channel that a member opens to another.
func (r *Rig) Secret(from, to uint32) *channel.Secret {
	r.TB.Helper()
	b := numbered(2, int(from))
	binary.BigEndian.PutUint32(b[5:], to)
	s, err := channel.NewSecret(b[:])
	if err != nil {
		r.TB.Fatal(err)
	}
	return s
}

// Sign returns a member's signed message.
func (r *Rig) Sign(from uint32, m protocol.Message) []byte {
	r.TB.Helper()
	b, err := r.Session.Sign(r.Signers[from], from, m)
	if err != nil {
		r.TB.Fatal(err)
	}
	return b
}

// SealVector returns the messages of the chunks of an encoded vector, which has 8 bytes an element.
func SealVector(
	s protocol.BoundPlan, secret *channel.Secret, c protocol.Context, encoded []byte,
) ([][]byte, error) {
	sealer, err := s.Sealer(secret, c)
	if err != nil {
		return nil, err
	}
	messages := make([][]byte, s.Chunks())
	for i := range messages {
		messages[i], _ = sealer.Seal(i, func(plain []byte) { encoded = encoded[copy(plain, encoded):] })
	}
	return messages, nil
}

// Step steps the machine and makes its records durable.
func (r *Rig) Step(ev protocol.Event) protocol.Effects {
	eff := r.Machine.Step(r.Now, ev)
	r.Store.apply(eff.Persist)
	return eff
}

// Deliver delivers a message to the machine.
func (r *Rig) Deliver(data []byte) protocol.Effects {
	return r.Step(protocol.Delivery{Data: data})
}

// Send signs a member's message and delivers it to the machine.
func (r *Rig) Send(from uint32, m protocol.Message) protocol.Effects {
	r.TB.Helper()
	return r.Deliver(r.Sign(from, m))
}
