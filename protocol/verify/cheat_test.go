package verify_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/identity"
	"choir/host"
	"choir/internal/roletest"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	sessionrun "choir/session/run"
	"choir/transport"
)

// liar is the bus of a compute node that adds one to the first coordinate of each partial sum it
// reveals, and signs and seals that.
type liar struct {
	transport.Bus
	t     *testing.T
	s     protocol.BoundPlan
	self  uint32
	key   *identity.PrivateKey
	store host.Store
}

func (l *liar) Publish(ctx context.Context, messages ...transport.Message) error {
	out := append([]transport.Message(nil), messages...)
	for i, m := range messages {
		c, err := protocol.UnmarshalChunk(m.Data)
		if err != nil || c.Purpose != protocol.PurposePartial {
			continue
		}
		v, chunk := l.another(c)
		out[i].Data = chunk
		out[i-1].Data = l.resign(messages[i-1].Data, v) // the Partial precedes its only chunk
	}
	return l.Bus.Publish(ctx, out...)
}

// Subscribe hides the node's own partial sum, which its machine would not recognize.
func (l *liar) Subscribe(ctx context.Context, filters []string, from uint64) (transport.Subscription, error) {
	own := func(f string) bool { return strings.Contains(f, ".psum.") }
	others := slices.DeleteFunc(slices.Clone(filters), own)
	return l.Bus.Subscribe(ctx, others, from)
}

func (l *liar) must(err error) {
	if err != nil {
		l.t.Error(err)
	}
}

// secret is that of the channel to the aggregator in a round.
func (l *liar) secret(round uint32) *channel.Secret {
	keys, err := protocol.RestoreKeyring(l.store)
	l.must(err)
	return keys.Secret(l.s.Plan.Aggregator(), round)
}

func (l *liar) another(c *protocol.Chunk) (field.Vector, []byte) {
	secret := l.secret(c.Round)
	plain, err := l.s.OpenChunk(secret, c)
	l.must(err)
	v := make(field.Vector, len(plain)/field.ElementSize)
	l.must(field.DecodeVector(v, plain))
	v[0] = field.Add(v[0], 1)
	messages, err := roletest.SealVector(l.s, secret, c.Context, field.AppendVector(nil, v))
	l.must(err)
	return v, messages[0]
}

func (l *liar) resign(head []byte, v field.Vector) []byte {
	_, m, err := l.s.Receive(head)
	l.must(err)
	p, ok := m.(*protocol.Partial)
	if !ok {
		l.t.Errorf("a %T precedes a partial sum's chunk", m)
		return head
	}
	o, err := l.s.OpenOpening(l.secret(p.Round), l.self, p)
	l.must(err)
	p.Vector = protocol.VectorDigest(v, o)
	b, err := l.s.Sign(l.key, l.self, p)
	l.must(err)
	return b
}

// TestNodeThatSumsSomethingElse: a node that reveals another sum than it agreed with is named, and
// the session stops with class 7 before anything is published; the record shows why.
func TestNodeThatSumsSomethingElse(t *testing.T) {
	vectors := [][]int64{{1, 2}, {10, 20}, {100, 200}}
	cheat := func(l *sessionrun.Local) {
		honest := l.Connect
		l.Connect = func(i uint32) (transport.Bus, error) {
			bus, err := honest(i)
			if i == 4 { // after the node's store
				store, storeErr := l.Store(i)
				if storeErr != nil {
					return nil, storeErr
				}
				return &liar{bus, t, l.Session, i, l.Keys[i], store}, err
			}
			return bus, err
		}
	}
	for _, audit := range []bool{false, true} {
		change := func(p *protocol.Plan) { p.Audit = audit }
		signed, _, stores, err := try(t, 3, 2, vectors, change, cheat)
		const cause = "node-4 revealed another partial sum than it agreed with"
		if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity || !strings.Contains(err.Error(), cause) {
			t.Fatal(err)
		}
		var entries [][]byte
		for _, key := range stores[5].Keys("transcript/") {
			entries = append(entries, stores[5].Get(key))
		}
		r, err := verify.Transcript(signed, entries, app.Sum{Dim: 2})
		if err != nil || !strings.Contains(r.Fault, cause) || r.Releases != 0 {
			t.Errorf("the record does not show it: %+v, %v", r, err)
		}
	}
}
