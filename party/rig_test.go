package party

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/identity"
	"choir/crypto/xof"
	"choir/protocol"
)

// rig is one party. The test plays all other members, so it knows every channel's secret.
type rig struct {
	t       testing.TB
	cfg     Config
	p       *Party
	store   map[string][]byte
	keys    []*identity.PrivateKey
	secrets map[uint32]*channel.Secret
	now     int64
	sent    [][]byte // all messages, in order
	steps   []int    // bytes sent by each step
	wake    int64
}

const rigParties, rigNodes = 3, 3

type charges struct{ n uint64 }

func (c *charges) Charge(uint32, uint32) ([]byte, uint64, error) { return []byte("charge"), c.n, nil }
func (c *charges) Append([]byte) error                           { c.n++; return nil }

type flat struct{ dim int }

func (a flat) Initial() []int64                                 { return make([]int64, a.dim) }
func (a flat) Fold(_ uint32, _, sum []int64) ([]int64, error)   { return sum, nil }
func (a flat) InitialState() []byte                             { return nil }
func (a flat) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }
func (r *rig) Get(key string) []byte                            { return r.store[key] }
func (r *rig) node(k int) uint32                                { return uint32(rigParties + k) }
func (r *rig) agg() uint32                                      { return rigParties + rigNodes }
func (r *rig) sign(from uint32, m protocol.Message) []byte {
	b, err := r.cfg.Session.Sign(r.keys[from], from, m)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

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

// newRig returns a party that has joined, under a plan and with a configuration that change may
// alter.
func newRig(t testing.TB, dim int, change func(*protocol.Plan, *Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: map[string][]byte{}, secrets: map[uint32]*channel.Secret{}, now: 1000}
	p := &protocol.Plan{
		Name:          "rig",
		Created:       1,
		NotAfter:      1 << 40,
		Suite:         channel.SuiteX25519,
		Dim:           uint32(dim),
		Rounds:        2,
		SpareAttempts: 1,
		MinParties:    2,
		DeadlineMS:    10_000,
		PerParty:      1 << 50,
		Noise:         protocol.NoiseParty,
		Variance:      1 << 40,
		Application:   "rig",
	}
	for i, name := range []string{"party-a", "party-b", "party-c", "node-a", "node-b", "node-c", "sum"} {
		role := []protocol.Role{1, 1, 1, 2, 2, 2, 3}[i]
		r.keys = append(r.keys, identity.FromSeed([32]byte{byte(i + 1)}))
		p.Members = append(p.Members, protocol.Member{Name: name, Role: role, Key: r.keys[i].Public(),
			NotAfter: p.NotAfter})
	}
	r.cfg = Config{Key: r.keys[0], App: flat{dim}, Ledger: new(charges), Rand: rand.NewChaCha8([32]byte{1}),
		View: r, ResendMS: 100,
		Initiate: func(_ channel.Suite, _, info []byte) ([]byte, *channel.Secret, error) {
			s, err := channel.NewSecret(info) // a digest, 32 bytes, different for each node
			return info, s, err
		}}
	change(p, &r.cfg)
	r.cfg.Session = protocol.Bind(p)
	r.boot()
	for _, owner := range []uint32{r.node(0), r.node(1), r.node(2), r.agg()} {
		public := []byte{byte(owner)}
		r.secrets[owner], _ = channel.NewSecret(r.cfg.Session.ChannelInfo(0, owner,
			protocol.KeyDigest(r.cfg.Session, owner, public)))
		r.deliver(r.sign(owner, &protocol.Key{Public: public, NotAfter: p.NotAfter}))
	}
	sealed, err := r.cfg.Session.SealGroup(r.secrets[r.agg()], 0, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	r.deliver(r.sign(r.agg(), &protocol.Group{To: 0, Sealed: sealed}))
	return r
}

// boot starts the party from its store.
func (r *rig) boot() {
	r.cfg.Ledger = new(charges)
	p, err := New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.p = p
	r.step(protocol.Start{})
}

func (r *rig) deliver(data []byte) { r.step(protocol.Delivery{Data: data}) }

// step carries out a step: it stores the records and collects the messages.
func (r *rig) step(ev protocol.Event) protocol.Effects {
	eff := r.ends(ev)
	if eff.Done && eff.Err != nil {
		r.t.Fatal(eff.Err)
	}
	return eff
}

// ends is step for an event that may end the party.
func (r *rig) ends(ev protocol.Event) protocol.Effects {
	eff := r.p.Step(r.now, ev)
	for _, rec := range eff.Persist {
		if rec.Value == nil {
			delete(r.store, rec.Key)
		} else {
			r.store[rec.Key] = slices.Clone(rec.Value)
		}
	}
	size := 0
	for _, o := range eff.Send {
		r.sent = append(r.sent, slices.Clone(o.Data))
		size += len(o.Data)
	}
	r.steps, r.wake = append(r.steps, size), eff.Wake
	return eff
}

// open opens an attempt of the first round on the party's model.
func (r *rig) open(attempt uint32) protocol.Effects {
	m := &protocol.Round{Round: 1, Attempt: attempt, Model: protocol.IntDigest(r.p.Model())}
	return r.step(protocol.Delivery{Data: r.sign(r.agg(), m)})
}

func (r *rig) propose(attempt uint32, update []int64) {
	r.step(protocol.Proposal{Round: 1, Attempt: attempt, Update: update, Memo: []byte("memo")})
}

// run steps the party as long as it asks for a Tick at once.
func (r *rig) run() {
	for r.wake <= r.now {
		r.step(protocol.Tick{})
	}
}

// contribution returns the chunks and the manifest among the messages from an index on.
func (r *rig) contribution(from int) (messages [][]byte) {
	for _, b := range r.sent[from:] {
		if protocol.IsChunk(b) || protocol.Kind(b[0]) == protocol.KindContribution {
			messages = append(messages, b)
		}
	}
	return messages
}

// noise opens a contribution with all nodes' secrets and returns the sum of its shares minus the
// update.
func (r *rig) noise(messages [][]byte, update []int64) []int64 {
	r.t.Helper()
	s, sum := r.cfg.Session, make(field.Vector, r.cfg.Session.Plan.Elements())
	_, m, err := s.Receive(messages[len(messages)-1])
	if err != nil {
		r.t.Fatal(err)
	}
	head := m.(*protocol.Contribution)
	var digests []protocol.Digest
	for _, b := range messages[:len(messages)-1] {
		c, err := protocol.UnmarshalChunk(b)
		if err != nil {
			r.t.Fatal(err)
		}
		plain, err := s.OpenChunk(r.secrets[c.To], c)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := xof.Chunk(sum, uint64(c.Index)).AddEncoded(plain); err != nil {
			r.t.Fatal(err)
		}
		digests = append(digests, protocol.NewChunkHash().Digest(c.Ciphertext))
	}
	if protocol.ChunkList(digests) != head.Vector {
		r.t.Fatal("the head is of other chunks")
	}
	for k := range rigNodes {
		ctx := protocol.Context{From: 0, To: r.node(k), Round: head.Round, Attempt: head.Attempt,
			Purpose: protocol.PurposeShare}
		account, err := head.ManifestDigest(s, ctx.From)
		if tag := s.Confirm(r.secrets[r.node(k)], ctx, account); err != nil || tag != head.Confirm[k] {
			r.t.Fatalf("node %d's confirmation is wrong (%v)", k, err)
		}
		if k == int(head.Explicit) {
			continue
		}
		mask, err := s.Mask(r.secrets[r.node(k)], ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range uint64(s.Chunks()) {
			mask.AddTo(xof.Chunk(sum, i), i)
		}
	}
	ints := make([]int64, len(sum))
	fixedpoint.FromField(ints, sum)
	out, err := s.Plan.OpenSum(ints, math.MaxInt64)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, u := range update {
		out[i] -= u
	}
	return out
}

// tally counts what was read from the random reader.
type tally struct {
	io.Reader
	n int
}

func (c *tally) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}
