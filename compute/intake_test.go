package compute

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/identity"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// rig is one node of three with parties that the test plays: it knows the secrets
// of all channels, and signatures count as good.
type rig struct {
	tb    testing.TB
	s     protocol.BoundPlan
	node  *Node
	store map[string][]byte
	now   int64
}

const intakeNodes = 3

// anySigner stands for every member's key.
type anySigner struct{ identity.PublicKey }

func (a anySigner) Public() identity.PublicKey                               { return a.PublicKey }
func (anySigner) Sign([]byte) (sig identity.Signature)                       { return sig }
func (anySigner) Verify(identity.PublicKey, []byte, identity.Signature) bool { return true }
func (x *rig) Get(key string) []byte                                         { return x.store[key] }
func (x *rig) Keys(string) []string                                          { return nil }
func numbered(kind byte, i int) (k [32]byte) {
	k[0] = kind
	binary.BigEndian.PutUint32(k[1:], uint32(i))
	return k
}

// secret is the channel secret of a party to a node.
func (x *rig) secret(party uint32, k int) *channel.Secret {
	b := numbered(byte(100+k), int(party))
	s, err := channel.NewSecret(b[:])
	if err != nil {
		x.tb.Fatal(err)
	}
	return s
}

// newRig is a node that has a channel with each of so many parties and is in round
// 1. Its store drops what only a restart would read.
func newRig(tb testing.TB, parties, dim int) *rig {
	tb.Helper()
	p := &protocol.Plan{Name: "intake", Created: 1, NotAfter: 1 << 40, Suite: channel.SuiteX25519, Dim: uint32(dim), Rounds: 1,
		MinParties: 2, DeadlineMS: 10_000, PerParty: 1 << 20, Application: "intake"}
	for i := range parties + intakeNodes + 1 {
		m := protocol.Member{Name: fmt.Sprintf("m%06d", i), Role: protocol.RoleParty, Key: identity.PublicKey(numbered(1, i)), NotAfter: p.NotAfter}
		switch {
		case i == parties+intakeNodes:
			m.Role = protocol.RoleAggregator
		case i >= parties:
			m.Role = protocol.RoleCompute
		}
		p.Members = append(p.Members, m)
	}
	x := &rig{tb: tb, s: protocol.Bind(p), store: map[string][]byte{}, now: 1000}
	key := anySigner{p.Members[parties].Key}
	x.s.Verifier = key
	var err error
	x.node, err = New(Config{Session: x.s, Key: key, Rand: rand.NewChaCha8([32]byte{1}), View: x, ResendMS: 1 << 40})
	if err != nil {
		tb.Fatal(err)
	}
	x.step(protocol.Start{})
	for i := range uint32(parties) {
		x.node.keepChannel(i, x.secret(i, 0))
	}
	x.step(protocol.Delivery{Data: x.sign(uint32(parties+intakeNodes), &protocol.Round{Round: 1, Attempt: 1})})
	return x
}

func (x *rig) sign(from uint32, m protocol.Message) []byte {
	b, err := x.s.Sign(anySigner{}, from, m)
	if err != nil {
		x.tb.Fatal(err)
	}
	return b
}

func (x *rig) step(ev protocol.Event) protocol.Effects {
	eff := x.node.Step(x.now, ev)
	if eff.Done {
		x.tb.Fatal(eff.Err)
	}
	for _, r := range eff.Persist {
		if len(r.Key) > 5 && r.Key[:5] == "share" {
			x.store[r.Key] = r.Value
		}
	}
	return eff
}

// explicitOf is an explicit share: the same element everywhere, another one for each party.
func (x *rig) explicitOf(party uint32) field.Vector {
	return slices.Repeat(field.Vector{field.Element(party + 1)}, x.s.Plan.Elements())
}

// contribution is a party's messages for this node: a chunk for each 65536 elements of its
// explicit share if this is the explicit node, and the head.
func (x *rig) contribution(party uint32) (messages [][]byte) {
	k := share.ExplicitIndex(int(party), 1, intakeNodes)
	ctx := protocol.Context{From: party, Round: 1, Attempt: 1, Purpose: protocol.PurposeShare}
	m := &protocol.Contribution{Round: 1, Attempt: 1, Explicit: uint32(k), Confirm: make([][16]byte, intakeNodes)}
	if k == 0 {
		ctx.To = x.node.self
		sealer, err := x.s.Sealer(x.secret(party, 0), ctx)
		if err != nil {
			x.tb.Fatal(err)
		}
		var digests []protocol.Digest
		for i := range x.s.Chunks() {
			b, ciphertext := sealer.Seal(i, func(plain []byte) { field.PutVector(plain, xof.Chunk(x.explicitOf(party), uint64(i))) })
			messages, digests = append(messages, b), append(digests, protocol.NewChunkHash().Digest(ciphertext))
		}
		m.Vector = protocol.ChunkList(digests)
	}
	ctx.To = x.node.self
	account, err := m.ManifestDigest(x.s, party)
	if err != nil {
		x.tb.Fatal(err)
	}
	m.Confirm[0] = x.s.Confirm(x.secret(party, 0), ctx, account)
	return append(messages, x.sign(party, m))
}

// take delivers a contribution and says whether it was received.
func (x *rig) take(party uint32, messages [][]byte) {
	before := x.node.count
	for _, b := range messages {
		x.step(protocol.Delivery{Data: b})
	}
	if x.node.count != before+1 {
		x.tb.Fatalf("party %d's contribution wasn't taken in", party)
	}
}

// TestAllocationsDoNotDependOnTheRoster: taking in a contribution allocates the same
// with a few parties as with thousands, when few are there as when most are.
func TestAllocationsDoNotDependOnTheRoster(t *testing.T) {
	perParty := func(parties, already int) float64 {
		x := newRig(t, parties, 100)
		for i := range uint32(already) {
			x.take(i, x.contribution(i))
		}
		const runs = 60
		var waiting [][][]byte
		for i := range runs + 1 {
			waiting = append(waiting, x.contribution(uint32(already+i)))
		}
		next := already
		return testing.AllocsPerRun(runs, func() {
			x.take(uint32(next), waiting[next-already])
			next++
		})
	}
	few := perParty(70, 0)
	for _, c := range [][2]int{{4000, 0}, {4000, 3900}} {
		if many := perParty(c[0], c[1]); many > few+4 { // maps grow now and then
			t.Errorf("%v allocations a contribution with %d parties of which %d are there, %v with 70", many, c[0], c[1], few)
		}
	}
	if few > 40 { // measured: 29
		t.Errorf("%v allocations a contribution", few)
	}
}

// TestMemoryPerParty: what a node remembers of a party, its channel included, stays
// below a kibibyte, beside the vector.
func TestMemoryPerParty(t *testing.T) {
	const parties = 4000
	x := newRig(t, parties, 100)
	clear(x.node.channels)
	before := heap()
	for i := range uint32(parties) {
		x.node.keepChannel(i, x.secret(i, 0))
		x.take(i, x.contribution(i))
		clear(x.store) // what is on disk doesn't count
	}
	if each := int(heap()-before) / parties; each > 1024 || each < 10 {
		t.Errorf("a node remembers %d bytes a party", each)
	}
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPendingSeedsAreInTheSum: whether seeds still wait or were added, together or one
// by one, what the node holds when it closes is the sum of all shares, and taking out
// leaves the others.
func TestPendingSeedsAreInTheSum(t *testing.T) {
	const dim = 50
	for _, parties := range []int{5, maxPending + 40, 3*maxPending + 7} {
		x := newRig(t, parties, dim)
		want := make(field.Vector, dim)
		var set []protocol.Entry
		for i := range uint32(parties - 1) { // the last one stays away
			x.take(i, x.contribution(i))
			if i%3 == 1 {
				continue // left out of the set
			}
			set = append(set, protocol.Entry{Party: i, Bundle: x.node.contributions[i].bundle})
			if share.ExplicitIndex(int(i), 1, intakeNodes) == 0 {
				want.Add(x.explicitOf(i))
				continue
			}
			mask, err := x.s.Mask(x.secret(i, 0), x.node.context(i))
			if err != nil {
				t.Fatal(err)
			}
			mask.AddTo(want, 0)
		}
		x.node.eff = &protocol.Effects{}
		if err := x.node.restrict(set); err != nil {
			t.Fatal(err)
		}
		if !x.node.sum.Equal(want) || len(x.node.pending) != 0 {
			t.Errorf("%d parties: another sum", parties)
		}
	}
}

// BenchmarkIntake is what a node spends on a contribution whose share it derives, all
// but the signatures, its own and the party's; limit is the expansion alone.
func BenchmarkIntake(b *testing.B) {
	for _, dim := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("d=%d", dim), func(b *testing.B) {
			const batch = 300
			var seeds []uint32
			for i := uint32(0); len(seeds) < batch; i++ {
				if share.ExplicitIndex(int(i), 1, intakeNodes) != 0 {
					seeds = append(seeds, i)
				}
			}
			messages := make([][][]byte, batch)
			x := newRig(b, 2*batch, dim)
			for i, p := range seeds {
				messages[i] = x.contribution(p)
			}
			b.SetBytes(int64(8 * dim))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; i == batch {
					b.StopTimer()
					x, i = newRig(b, 2*batch, dim), 0
					b.StartTimer()
				}
				x.take(seeds[i], messages[i])
			}
		})
	}
	b.Run("limit", func(b *testing.B) {
		mask, err := newRig(b, 3, 10_000).node.maskOf(0)
		if err != nil {
			b.Fatal(err)
		}
		acc := make(field.Vector, 10_000)
		b.SetBytes(64 * 80_000)
		for b.Loop() {
			share.AddSeeds(acc, slices.Repeat([]*xof.Stream{mask}, 64)...)
		}
	})
}

// maskOf is a party's mask in the current attempt.
func (n *Node) maskOf(party uint32) (*xof.Stream, error) {
	return n.s.Mask(n.channels[party], n.context(party))
}
