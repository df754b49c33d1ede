package party

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/internal/roletest"
	"choir/protocol"
)

// rig is one party. The test plays all other members, so it knows every channel's secret.
type rig struct {
	*roletest.Rig
	cfg   Config
	p     *Party
	sent  [][]byte // all messages, in order
	steps []int    // bytes sent by each step
	wake  int64
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

func (r *rig) agg() uint32 { return rigParties + rigNodes }

// secret is that of the party's channel to another member.
func (r *rig) secret(to uint32) *channel.Secret { return r.Secret(0, to) }

// newRig returns a party that has joined, under a plan and with a configuration that change may
// alter.
func newRig(t testing.TB, dim int, change func(*protocol.Plan, *Config)) *rig {
	t.Helper()
	p := &protocol.Plan{
		Name:              "rig",
		Created:           1,
		NotAfter:          1 << 40,
		Suite:             channel.SuiteX25519,
		Dim:               uint32(dim),
		Rounds:            2,
		SpareAttempts:     1,
		MinParties:        2,
		UnsafeDifferences: true,
		DeadlineMS:        10_000,
		PerParty:          1 << 50,
		Noise:             protocol.NoiseParty,
		Variance:          1 << 40,
		Application:       "rig",
	}
	cfg := Config{App: flat{dim}, Rand: rand.NewChaCha8([32]byte{1}), ResendMS: 100}
	change(p, &cfg)
	r := &rig{Rig: roletest.New(t, p, rigParties, rigNodes), cfg: cfg}
	r.cfg.Session = r.Session
	r.cfg.Key = r.Signers[0]
	r.cfg.View = r.Store
	r.cfg.Initiate = func(_ channel.Suite, public, info []byte) ([]byte, *channel.Secret, error) {
		return info, r.secret(uint32(public[0])), nil
	}
	r.boot()
	for owner := r.Node(0); owner <= r.agg(); owner++ {
		r.deliver(r.Sign(owner, &protocol.Key{Number: 1, Public: []byte{byte(owner)}, NotAfter: p.NotAfter}))
	}
	sealed, err := r.cfg.Session.SealGroup(r.secret(r.agg()), 0, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	r.deliver(r.Sign(r.agg(), &protocol.Group{To: 0, Sealed: sealed}))
	return r
}

// boot starts the party from its store.
func (r *rig) boot() {
	r.cfg.Ledger = new(charges)
	p, err := New(r.cfg)
	if err != nil {
		r.TB.Fatal(err)
	}
	r.p = p
	r.Machine = p
	r.step(protocol.Start{})
}

func (r *rig) deliver(data []byte) { r.step(protocol.Delivery{Data: data}) }

// step carries out a step: it stores the records and collects the messages.
func (r *rig) step(ev protocol.Event) protocol.Effects {
	eff := r.ends(ev)
	if eff.Done && eff.Err != nil {
		r.TB.Fatal(eff.Err)
	}
	return eff
}

// ends is step for an event that may end the party.
func (r *rig) ends(ev protocol.Event) protocol.Effects {
	eff := r.Step(ev)
	size := 0
	for _, o := range eff.Send {
		r.sent = append(r.sent, slices.Clone(o.Data))
		size += len(o.Data)
	}
	r.steps, r.wake = append(r.steps, size), eff.Wake
	return eff
}

// digest is that of a round's aggregate or next model under the rig's group key.
func (r *rig) digest(round uint32, v []int64) protocol.Digest {
	group, err := channel.NewSecret(make([]byte, 32))
	if err != nil {
		r.TB.Fatal(err)
	}
	return protocol.IntDigest(r.cfg.Session.DigestSecret(group).Key(round), v)
}

// loseGroup restarts the party as it was before it had the group key.
func (r *rig) loseGroup() {
	keys, err := protocol.RestoreKeyring(r.Store)
	if err != nil {
		r.TB.Fatal(err)
	}
	keys.Drop(protocol.Everyone)
	keys.Drop(protocol.Digests)
	keys.Add(r.agg(), 1, r.secret(r.agg()))
	var eff protocol.Effects
	keys.Store(&eff)
	for _, rec := range eff.Persist {
		if r.Store[rec.Key] = rec.Value; rec.Value == nil {
			delete(r.Store, rec.Key)
		}
	}
	delete(r.Store, "group")
	r.boot()
}

// open opens an attempt of the first round on the party's model.
func (r *rig) open(attempt uint32) protocol.Effects {
	m := &protocol.Round{Round: 1, Attempt: attempt, Model: r.digest(0, r.p.Model())}
	return r.step(protocol.Delivery{Data: r.Sign(r.agg(), m)})
}

func (r *rig) propose(attempt uint32, update []int64) {
	r.step(protocol.Proposal{Round: 1, Attempt: attempt, Update: update, Memo: []byte("memo")})
}

// run steps the party as long as it asks for a Tick at once.
func (r *rig) run() {
	for r.wake <= r.Now {
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
	r.TB.Helper()
	s, sum := r.cfg.Session, make(field.Vector, r.cfg.Session.Plan.Elements())
	_, m, err := s.Receive(messages[len(messages)-1])
	if err != nil {
		r.TB.Fatal(err)
	}
	head := m.(*protocol.Contribution)
	var digests []protocol.Digest
	for _, b := range messages[:len(messages)-1] {
		c, err := protocol.UnmarshalChunk(b)
		if err != nil {
			r.TB.Fatal(err)
		}
		plain, err := s.OpenChunk(r.secret(c.To), c)
		if err != nil {
			r.TB.Fatal(err)
		}
		if err := xof.Chunk(sum, uint64(c.Index)).AddEncoded(plain); err != nil {
			r.TB.Fatal(err)
		}
		digests = append(digests, protocol.NewChunkHash().Digest(c.Ciphertext))
	}
	if protocol.ChunkList(digests) != head.Vector {
		r.TB.Fatal("the head is of other chunks")
	}
	for k := range rigNodes {
		ctx := head.Context(0, r.Node(k))
		account, err := head.ManifestDigest(s, ctx.From)
		if tag := s.Confirm(r.secret(r.Node(k)), ctx, account); err != nil || tag != head.Confirm[k] {
			r.TB.Fatalf("node %d's confirmation is wrong (%v)", k, err)
		}
		if k == int(head.Explicit) {
			continue
		}
		mask, err := s.Mask(r.secret(r.Node(k)), ctx)
		if err != nil {
			r.TB.Fatal(err)
		}
		for i := range uint64(s.Chunks()) {
			mask.AddTo(xof.Chunk(sum, i), i)
		}
	}
	ints := make([]int64, len(sum))
	fixedpoint.FromField(ints, sum)
	out, err := s.Plan.OpenSum(ints, protocol.AnySum)
	if err != nil {
		r.TB.Fatal(err)
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
