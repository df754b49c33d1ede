package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
)

// Purpose is what a sealed vector is for. It separates keys and associated data.
type Purpose uint8

const (
	PurposeShare   Purpose = 1 // party -> compute node: the explicit share
	PurposePartial Purpose = 2 // compute node -> aggregator: the partial sum
	PurposeResult  Purpose = 3 // aggregator -> all members, under the group key
)

// Everyone is the receiver of what is sealed under the group key.
const Everyone = ^uint32(0)

// Context is all that a sealed vector is bound to. It enters the key derivation and the
// associated data.
type Context struct {
	From    uint32
	To      uint32
	Round   uint32
	Attempt uint32
	Purpose Purpose
	Salt    Salt
}

// Salt distinguishes vectors that are sealed or shared in one attempt, so that no two plaintexts
// ever have one key and nonce, even if their sender has forgotten some. It is public. That of a
// contribution is drawn with the contribution; those of a partial sum and of an aggregate follow
// from digests of what is sealed.
type Salt [16]byte

// Chunk is one sealed piece of a vector: 65536 elements, fewer in the last. The key of its
// channel authenticates it, so it has no signature.
//
// Layout: u8 kind (32) | 16 plan | u32 from | u32 to | u32 round |
// u32 attempt | u8 purpose | 16 salt | u32 index | u8 last | bytes ciphertext.
type Chunk struct {
	Plan [16]byte // PlanID.Prefix
	Context
	Index      uint32
	Last       bool
	Ciphertext []byte
}

// maxCiphertext is the size of a full chunk with its tag, in bytes.
const maxCiphertext = xof.ChunkElements*field.ElementSize + channel.Overhead

func (c *Context) fields(w *wire) {
	w.u32("from", &c.From)
	w.u32("to", &c.To)
	w.attempt(&c.Round, &c.Attempt)
	w.u8("purpose", (*uint8)(&c.Purpose))
	if w.err == nil && (c.Purpose < PurposeShare || c.Purpose > PurposeResult) {
		w.fail("no such purpose %d", c.Purpose)
	}
	w.fixed("salt", c.Salt[:])
}

func (c *Chunk) fields(w *wire) {
	kind := KindChunk
	w.u8("kind", (*uint8)(&kind))
	if kind != KindChunk {
		w.fail("kind %d is not a chunk", kind)
	}
	w.fixed("plan", c.Plan[:])
	c.Context.fields(w)
	w.u32("index", &c.Index)
	w.flag("last", &c.Last)
	w.blob("ciphertext", &c.Ciphertext, maxCiphertext)
}

// Marshal returns the chunk's canonical form.
func (c *Chunk) Marshal() ([]byte, error) { return marshal(c) }

// UnmarshalChunk checks the form alone. Nothing is authenticated before the ciphertext opens.
func UnmarshalChunk(b []byte) (*Chunk, error) {
	c, err := ViewChunk(b)
	if err != nil {
		return nil, err
	}
	c.Ciphertext = append([]byte(nil), c.Ciphertext...)
	return c, nil
}

// ViewChunk is UnmarshalChunk without a copy: the ciphertext is a part of b, which must not
// change while it is in use.
func ViewChunk(b []byte) (*Chunk, error) {
	c := new(Chunk)
	if err := view("chunk", b, c); err != nil {
		return nil, err
	}
	return c, nil
}

// IsChunk reports whether a message is a chunk, by its first byte.
func IsChunk(b []byte) bool { return len(b) > 0 && Kind(b[0]) == KindChunk }

// contextSize is the size of a context's canonical form, in bytes.
const contextSize = 32 + 4*4 + 1 + len(Salt{})

// bytes returns the context's canonical form under a plan.
func (c Context) bytes(id PlanID) []byte {
	b := append(make([]byte, 0, contextSize+len(Digest{})), id[:]...) // callers append a digest
	return c.appendTo(b)
}

// appendTo appends the context's canonical form after the plan.
func (c Context) appendTo(b []byte) []byte {
	for _, v := range []uint32{c.From, c.To, c.Round, c.Attempt} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(append(b, byte(c.Purpose)), c.Salt[:]...)
}

// Context returns the context of a contribution's share to a compute node.
func (m *Contribution) Context(from, node uint32) Context {
	return Context{
		From: from, To: node, Round: m.Round, Attempt: m.Attempt, Purpose: PurposeShare, Salt: m.Salt,
	}
}

// PartialContext returns the context of a node's partial sum with a vector digest, which no one
// can choose: it follows from the elements and from a secret of the node.
func (s BoundPlan) PartialContext(node, round, attempt uint32, vector Digest) Context {
	return Context{
		From:    node,
		To:      s.Plan.Aggregator(),
		Round:   round,
		Attempt: attempt,
		Purpose: PurposePartial,
		Salt:    Salt(vector[:]),
	}
}

// ResultContext returns the context of what a result seals under the group key of its round. Its
// salt follows from the partial sums' digests, and so do the plaintexts.
func (s BoundPlan) ResultContext(group *channel.Secret, m *Result) Context {
	parts := make([][]byte, 1, 1+len(m.Partials))
	parts[0] = s.ID[:]
	for k := range m.Partials {
		parts = append(parts, m.Partials[k][:])
	}
	d := digest(partialsContext, parts...)
	key := group.Derive(resultSaltKey, d[:])
	return Context{
		From:    s.Plan.Aggregator(),
		To:      Everyone,
		Round:   m.Round,
		Attempt: m.Attempt,
		Purpose: PurposeResult,
		Salt:    Salt(key[:]),
	}
}

// box returns the AEAD under the key of one vector in one context.
func (s BoundPlan) box(secret *channel.Secret, c Context) (*channel.Box, error) {
	ctx := c.bytes(s.ID)
	ad := binary.BigEndian.AppendUint32(append([]byte("choir v1 chunk\x00"), ctx...), s.Plan.Dim)
	return channel.NewBox(secret.Derive(sealKey, ctx), ad)
}

// Chunks returns the number of chunks of a vector under the plan.
func (s BoundPlan) Chunks() int { return xof.Chunks(s.Plan.Elements()) }

// ChunkLen returns the number of elements of chunk i.
func (s BoundPlan) ChunkLen(i int) int {
	return min(xof.ChunkElements, s.Plan.Elements()-i*xof.ChunkElements)
}

// ChunkCoordinates returns the first coordinate of chunk i of an update and the number of its
// coordinates.
func (s BoundPlan) ChunkCoordinates(i int) (from, n int) {
	per := s.Plan.PerElement()
	from = i * xof.ChunkElements * per
	return from, min(s.ChunkLen(i)*per, int(s.Plan.Dim)-from)
}

// Mask returns the keystream of a seed node's share in a context. Both ends of the channel
// derive it; it is never sent.
func (s BoundPlan) Mask(secret *channel.Secret, c Context) (*xof.Stream, error) {
	ctx := c.bytes(s.ID)
	return xof.New(secret.Derive(maskKey, ctx))
}

// SealGroup seals the group key for a member under the member's channel to the aggregator.
func (s BoundPlan) SealGroup(secret *channel.Secret, to uint32, group []byte) ([]byte, error) {
	box, err := s.groupBox(secret, to)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, 0, true, group), nil
}

// OpenGroup is the inverse of SealGroup at the member.
func (s BoundPlan) OpenGroup(secret *channel.Secret, to uint32, sealed []byte) ([]byte, error) {
	box, err := s.groupBox(secret, to)
	if err != nil {
		return nil, err
	}
	key, err := box.Open(nil, 0, true, sealed)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%w: group key for member %d", ErrSealed, to)
	}
	return key, nil
}

func (s BoundPlan) groupBox(secret *channel.Secret, to uint32) (*channel.Box, error) {
	ctx := append(append([]byte(nil), s.ID[:]...), u32bytes(to)...)
	return channel.NewBox(secret.Derive(groupKey, ctx), append([]byte("choir v1 group\x00"), ctx...))
}

// ChannelInfo returns the HPKE info string of the channel from one member to another. It binds
// the plan, both ends and the key.
func (s BoundPlan) ChannelInfo(from, to uint32, key Digest) []byte {
	d := digest(channelContext, s.ID[:], u32bytes(from), u32bytes(to), key[:])
	return d[:]
}
