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
}

// Chunk is one sealed piece of a vector: 65536 elements, fewer in the last. The key of its
// channel authenticates it, so it has no signature.
//
// Layout: u8 kind (32) | 32 plan id | u32 from | u32 to | u32 round |
// u32 attempt | u8 purpose | u32 index | u8 last | bytes ciphertext.
type Chunk struct {
	Plan PlanID
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
}

func (c *Chunk) fields(w *wire) {
	kind := KindChunk
	w.u8("kind", (*uint8)(&kind))
	if kind != KindChunk {
		w.fail("kind %d is not a chunk", kind)
	}
	w.fixed("plan id", c.Plan[:])
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
const contextSize = 32 + 4*4 + 1

// bytes returns the context's canonical form under a plan.
func (c Context) bytes(id PlanID) []byte {
	b := append(make([]byte, 0, contextSize+len(Digest{})), id[:]...) // callers append a digest
	for _, v := range []uint32{c.From, c.To, c.Round, c.Attempt} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, byte(c.Purpose))
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
