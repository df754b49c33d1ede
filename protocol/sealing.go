package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
)

// Sealer seals one vector in one context, chunk by chunk, in any order and in
// parallel. The same plaintext gives the same bytes, however often it is sealed;
// another plaintext for a chunk that was sealed before must never be given to it, or
// to another Sealer of the same secret and context, once a byte of it has left.
type Sealer struct {
	s   BoundPlan
	c   Context
	box *channel.Box
}

// Sealer prepares the sealing of a vector under a channel's secret.
func (s BoundPlan) Sealer(secret *channel.Secret, c Context) (*Sealer, error) {
	box, err := s.box(secret, c)
	if err != nil {
		return nil, err
	}
	return &Sealer{s, c, box}, nil
}

// chunkHeader is what stands before a chunk's ciphertext on the bus.
const chunkHeader = 1 + 32 + 4*4 + 1 + 4 + 1 + 4

// Seal returns chunk i as it travels, and its ciphertext, which is a part of it. put
// writes the plaintext, 8 bytes an element, into the place that it is given, where it
// is then sealed: the message is the only copy.
func (x *Sealer) Seal(i int, put func(plain []byte)) (message, ciphertext []byte) {
	return x.SealIn(nil, i, put)
}

// SealIn does it in room, from its first byte on, whatever stands there, when it has the
// capacity, and in fresh memory otherwise.
func (x *Sealer) SealIn(room []byte, i int, put func(plain []byte)) (message, ciphertext []byte) {
	n := x.s.ChunkLen(i) * field.ElementSize
	last := i == x.s.Chunks()-1
	if cap(room) < chunkHeader+n+channel.Overhead {
		room = make([]byte, 0, chunkHeader+n+channel.Overhead)
	}
	message = x.header(room[:0], uint32(i), last, uint32(n+channel.Overhead))
	plain := message[chunkHeader : chunkHeader+n]
	put(plain)
	ciphertext = x.box.Seal(plain[:0], uint32(i), last, plain)
	return message[:chunkHeader+len(ciphertext)], ciphertext
}

// header is Chunk's layout up to the ciphertext.
func (x *Sealer) header(b []byte, index uint32, last bool, size uint32) []byte {
	b = append(b, byte(KindChunk))
	b = append(b, x.c.bytes(x.s.ID)...)
	b = binary.BigEndian.AppendUint32(b, index)
	if last {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, size)
}

// SealVector seals an encoded vector (8 bytes an element) chunk by chunk.
func (s BoundPlan) SealVector(secret *channel.Secret, c Context, encoded []byte) ([]*Chunk, error) {
	if len(encoded) != s.Plan.Elements()*field.ElementSize {
		return nil, fmt.Errorf("seal: %d bytes for %d elements", len(encoded), s.Plan.Elements())
	}
	x, err := s.Sealer(secret, c)
	if err != nil {
		return nil, err
	}
	out := make([]*Chunk, s.Chunks())
	for i := range out {
		_, sealed := x.Seal(i, func(plain []byte) { encoded = encoded[copy(plain, encoded):] })
		out[i] = &Chunk{Plan: s.ID, Context: c, Index: uint32(i), Last: i == len(out)-1, Ciphertext: sealed}
	}
	return out, nil
}

// OpenChunk authenticates and opens one chunk; the plaintext has exactly the
// length that its index calls for.
func (s BoundPlan) OpenChunk(secret *channel.Secret, c *Chunk) ([]byte, error) {
	return s.OpenChunkTo(nil, secret, c)
}

// OpenChunkTo appends the plaintext to dst, which must not overlap the ciphertext;
// with 512 KiB of room in dst it allocates nothing for it.
func (s BoundPlan) OpenChunkTo(dst []byte, secret *channel.Secret, c *Chunk) ([]byte, error) {
	if c.Plan != s.ID {
		return nil, fmt.Errorf("%w: plan %s, not %s", ErrWrongPlan, c.Plan.Short(), s.ID.Short())
	}
	n := s.Chunks()
	if uint64(c.Index) >= uint64(n) || c.Last != (int(c.Index) == n-1) {
		return nil, fmt.Errorf("%w: chunk %d (last: %t) of %d", ErrMalformed, c.Index, c.Last, n)
	}
	want := s.ChunkLen(int(c.Index)) * field.ElementSize
	if have := len(c.Ciphertext) - channel.Overhead; have != want {
		return nil, fmt.Errorf("%w: chunk %d has %d bytes, not %d", ErrMalformed, c.Index, have, want)
	}
	box, err := s.box(secret, c.Context)
	if err != nil {
		return nil, err
	}
	plain, err := box.Open(dst, c.Index, c.Last, c.Ciphertext)
	if err != nil {
		return nil, fmt.Errorf("%w: chunk %d from member %d", ErrSealed, c.Index, c.From)
	}
	return plain, nil
}
