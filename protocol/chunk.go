package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
)

// Purpose says what a sealed vector is; it separates keys and associated data.
type Purpose uint8

const (
	PurposeShare   Purpose = 1 // party -> compute node: the explicit share
	PurposePartial Purpose = 2 // compute node -> aggregator: the partial sum
	PurposeResult  Purpose = 3 // aggregator -> all members, under the group key
)

// Everyone is the receiver of what is sealed under the group key.
const Everyone = ^uint32(0)

// Context is everything that a sealed vector is bound to; all of it enters the
// key derivation and the associated data.
type Context struct {
	From    uint32
	To      uint32
	Round   uint32
	Attempt uint32
	Purpose Purpose
}

// Chunk is one sealed piece of a vector: 65536 elements, fewer in the last. It
// is authenticated by its channel's key, so it carries no signature.
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

// maxCiphertext is a full chunk and its tag.
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
		w.fail("kind %d isn't a chunk", kind)
	}
	w.fixed("plan id", c.Plan[:])
	c.Context.fields(w)
	w.u32("index", &c.Index)
	w.flag("last", &c.Last)
	w.blob("ciphertext", &c.Ciphertext, maxCiphertext)
}

// Marshal is the chunk's canonical form.
func (c *Chunk) Marshal() ([]byte, error) { return marshal(c) }

// UnmarshalChunk reads the form alone; nothing is authenticated before the
// ciphertext opens.
func UnmarshalChunk(b []byte) (*Chunk, error) {
	c, err := ViewChunk(b)
	if err != nil {
		return nil, err
	}
	c.Ciphertext = append([]byte(nil), c.Ciphertext...)
	return c, nil
}

// ViewChunk is UnmarshalChunk without a copy: the ciphertext is a part of b, which
// must not change while it is in use.
func ViewChunk(b []byte) (*Chunk, error) {
	c := new(Chunk)
	if err := view("chunk", b, c); err != nil {
		return nil, err
	}
	return c, nil
}

// IsChunk tells a chunk from a signed message by its first byte.
func IsChunk(b []byte) bool { return len(b) > 0 && Kind(b[0]) == KindChunk }

// contextSize is a context's canonical form's, in bytes.
const contextSize = 32 + 4*4 + 1

// bytes is the context's canonical form under a plan.
func (c Context) bytes(id PlanID) []byte {
	b := append(make([]byte, 0, contextSize+len(Digest{})), id[:]...) // with room for a digest behind it
	for _, v := range []uint32{c.From, c.To, c.Round, c.Attempt} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, byte(c.Purpose))
}

// box is the sealing key of one vector in one context and of nothing else.
func (s BoundPlan) box(secret *channel.Secret, c Context) (*channel.Box, error) {
	ctx := c.bytes(s.ID)
	ad := binary.BigEndian.AppendUint32(append([]byte("choir v1 chunk\x00"), ctx...), s.Plan.Dim)
	return channel.NewBox(secret.Derive(sealKey, ctx), ad)
}

// Chunks is how many chunks a vector under the plan has.
func (s BoundPlan) Chunks() int { return xof.Chunks(s.Plan.Elements()) }

// ChunkLen is how many elements chunk i has.
func (s BoundPlan) ChunkLen(i int) int {
	return min(xof.ChunkElements, s.Plan.Elements()-i*xof.ChunkElements)
}

// ChunkCoordinates are the coordinates that chunk i of an update stands for: the first of
// them, and how many.
func (s BoundPlan) ChunkCoordinates(i int) (from, n int) {
	per := s.Plan.PerElement()
	from = i * xof.ChunkElements * per
	return from, min(s.ChunkLen(i)*per, int(s.Plan.Dim)-from)
}

// Mask is the keystream of a seed node's share in a context: both ends of the
// channel derive it, nothing is sent.
func (s BoundPlan) Mask(secret *channel.Secret, c Context) (*xof.Stream, error) {
	ctx := c.bytes(s.ID)
	return xof.New(secret.Derive(maskKey, ctx))
}

// SealGroup seals the group key for a member under the member's channel to the
// aggregator.
func (s BoundPlan) SealGroup(secret *channel.Secret, to uint32, group []byte) ([]byte, error) {
	box, err := s.groupBox(secret, to)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, 0, true, group), nil
}

// OpenGroup is SealGroup's inverse at the member.
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

// ChannelInfo is the HPKE info string of the channel from one member to
// another: it binds the plan, both ends and the key.
func (s BoundPlan) ChannelInfo(from, to uint32, key Digest) []byte {
	d := digest(channelContext, s.ID[:], u32bytes(from), u32bytes(to), key[:])
	return d[:]
}
