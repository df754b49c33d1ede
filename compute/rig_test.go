package compute

import (
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/internal/roletest"
	"choir/protocol"
)

// rig is one node of three with parties that the test plays. All signatures are valid.
type rig struct {
	*roletest.Rig
	node *Node
}

const rigNodes = 3

// newRig returns a node that has a channel with each of the parties and is in round 1.
func newRig(tb testing.TB, parties, dim int) *rig {
	tb.Helper()
	p := &protocol.Plan{
		Name:              "intake",
		Created:           1,
		NotAfter:          1 << 40,
		Suite:             channel.SuiteX25519,
		Dim:               uint32(dim),
		Rounds:            1,
		SpareAttempts:     1,
		MinParties:        2,
		UnsafeDifferences: true,
		DeadlineMS:        10_000,
		PerParty:          1 << 20,
		Application:       "intake",
	}
	x := &rig{Rig: roletest.NewUnsigned(tb, p, parties, rigNodes)}
	var err error
	x.node, err = New(Config{
		Session:  x.Session,
		Key:      x.Signers[x.Node(0)],
		Rand:     rand.NewChaCha8([32]byte{1}),
		View:     x.Store,
		ResendMS: 1 << 40,
	})
	if err != nil {
		tb.Fatal(err)
	}
	x.Machine = x.node
	x.step(protocol.Start{})
	for i := range uint32(parties) {
		x.node.keepChannel(i, 1, x.secret(i))
	}
	x.deliver(x.Sign(p.Aggregator(), &protocol.Round{Round: 1, Attempt: 1}))
	return x
}

// secret is that of a party's channel to the node.
func (x *rig) secret(party uint32) *channel.Secret { return x.Secret(party, x.Node(0)) }

// step is Step for an event that must not end the node.
func (x *rig) step(ev protocol.Event) protocol.Effects {
	x.TB.Helper()
	eff := x.Step(ev)
	if eff.Done {
		x.TB.Fatal(eff.Err)
	}
	return eff
}

func (x *rig) deliver(data []byte) protocol.Effects {
	x.TB.Helper()
	return x.step(protocol.Delivery{Data: data})
}

// explicitParty is the first party whose explicit share is for this node.
func (x *rig) explicitParty() (party uint32) {
	for share.ExplicitIndex(int(party), 1, rigNodes) != 0 {
		party++
	}
	return party
}

// explicitOf is a party's explicit share: the same element everywhere, another one for each
// party.
func (x *rig) explicitOf(party uint32) field.Vector {
	return slices.Repeat(field.Vector{field.Element(party + 1)}, x.Session.Plan.Elements())
}

// sealChunk seals a chunk of a party's explicit share, which fill writes.
func (x *rig) sealChunk(party uint32, i int, fill func(plain []byte)) (chunk, ciphertext []byte) {
	x.TB.Helper()
	sealer, err := x.Session.Sealer(x.secret(party),
		(&protocol.Contribution{Round: 1, Attempt: 1}).Context(party, x.node.self))
	if err != nil {
		x.TB.Fatal(err)
	}
	return sealer.Seal(i, fill)
}

// contribution returns a party's messages for this node: the chunks of its explicit share if this
// is the explicit node, and the head.
func (x *rig) contribution(party uint32) (messages [][]byte) {
	x.TB.Helper()
	k := share.ExplicitIndex(int(party), 1, rigNodes)
	m := &protocol.Contribution{Round: 1, Attempt: 1, Explicit: uint32(k)}
	if k == 0 {
		var digests []protocol.Digest
		for i := range x.Session.Chunks() {
			b, ciphertext := x.sealChunk(party, i, func(plain []byte) {
				field.PutVector(plain, xof.Chunk(x.explicitOf(party), uint64(i)))
			})
			messages = append(messages, b)
			digests = append(digests, protocol.NewChunkHash().Digest(ciphertext))
		}
		m.Vector = protocol.ChunkList(digests)
	}
	return append(messages, x.head(party, m))
}

// head signs a contribution's head with its confirmation for this node.
func (x *rig) head(party uint32, m *protocol.Contribution) []byte {
	x.TB.Helper()
	m.Confirm = make([][16]byte, rigNodes)
	manifest, err := m.ManifestDigest(x.Session, party)
	if err != nil {
		x.TB.Fatal(err)
	}
	m.Confirm[0] = x.Session.Confirm(x.secret(party), m.Context(party, x.node.self), manifest)
	return x.Sign(party, m)
}

// receive delivers a contribution that must be complete with it.
func (x *rig) receive(party uint32, messages [][]byte) {
	x.TB.Helper()
	before := x.node.count
	for _, b := range messages {
		x.deliver(b)
	}
	if x.node.count != before+1 {
		x.TB.Fatalf("party %d's contribution is not complete", party)
	}
}

// entry is the list entry of a contribution that the node has.
func (x *rig) entry(party uint32) protocol.Entry {
	return protocol.Entry{Party: party, Bundle: x.node.contributions[party].bundle}
}
