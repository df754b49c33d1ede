package protocol

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/crypto/field"
)

// Sealer seals one vector in one context, chunk by chunk, in any order and in parallel. The
// same plaintext always gives the same bytes. Once a byte of a sealed chunk was sent, no other
// plaintext for that chunk may be passed to this Sealer or to another one of the same secret
// and context: the nonce would be used twice.
type Sealer struct {
	bound   BoundPlan
	context Context
	box     *channel.Box
}

// Sealer returns a Sealer under a channel's secret.
func (s BoundPlan) Sealer(secret *channel.Secret, c Context) (*Sealer, error) {
	box, err := s.box(secret, c)
	if err != nil {
		return nil, err
	}
	return &Sealer{bound: s, context: c, box: box}, nil
}

// chunkHeader is the size of a chunk's encoding before its ciphertext, in bytes.
const chunkHeader = 1 + contextSize - 16 + 4 + 1 + 4

// Seal returns the encoding of chunk i, and its ciphertext, which is a part of the encoding.
// put writes the plaintext, 8 bytes an element, to the memory in which it is then encrypted,
// so that there is only one copy.
func (x *Sealer) Seal(i int, put func(plain []byte)) (message, ciphertext []byte) {
	n := x.bound.ChunkLen(i) * field.ElementSize
	last := i == x.bound.Chunks()-1
	message = make([]byte, 0, chunkHeader+n+channel.Overhead)
	message = x.header(message, uint32(i), last, uint32(n+channel.Overhead))
	plain := message[chunkHeader : chunkHeader+n]
	put(plain)
	ciphertext = x.box.Seal(plain[:0], uint32(i), last, plain)
	return message[:chunkHeader+len(ciphertext)], ciphertext
}

// header appends Chunk's layout up to the ciphertext.
func (x *Sealer) header(b []byte, index uint32, last bool, size uint32) []byte {
	b = append(b, byte(KindChunk))
	b = x.context.appendTo(append(b, x.bound.ID[:16]...))
	b = binary.BigEndian.AppendUint32(b, index)
	if last {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, size)
}

// NoiseSeed derives the seed of a compute node's noise for a set from a secret that the node
// has for itself. A node that does a round again, after its store was rolled back, adds the
// same noise to the same sum.
func (s BoundPlan) NoiseSeed(secret *channel.Secret, round, attempt uint32, set Digest) [32]byte {
	return [32]byte(secret.Derive(noiseKey, s.setContext(round, attempt, set)))
}

// Salt derives the salt of a partial sum's digest from the same secret.
func (s BoundPlan) Salt(secret *channel.Secret, round, attempt uint32, set Digest) [32]byte {
	return [32]byte(secret.Derive(saltKey, s.setContext(round, attempt, set)))
}

func (s BoundPlan) setContext(round, attempt uint32, set Digest) []byte {
	ctx := binary.BigEndian.AppendUint32(append([]byte(nil), s.ID[:]...), round)
	return append(binary.BigEndian.AppendUint32(ctx, attempt), set[:]...)
}

// ContributionSalt derives a contribution's salt from the secret seed that was drawn for it.
func ContributionSalt(seed [32]byte) Salt {
	d := blake.Derive(saltContext, seed[:])
	return Salt(d[:])
}

// BlindingSource returns the randomness of a contribution's blinding scalar and of its shares, which
// follows from the same seed, so that a manifest that is made again is the same.
func BlindingSource(seed [32]byte) io.Reader {
	key := blake.Derive(blindContext, seed[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	return cipher.StreamReader{S: cipher.NewCTR(block, make([]byte, aes.BlockSize)), R: zeros{}}
}

// zeros reads zeros without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// SealOpening seals a node's opening for the aggregator into its Partial.
func (s BoundPlan) SealOpening(secret *channel.Secret, node uint32, m *Partial, o Opening) error {
	box, err := s.openingBox(secret, node, m)
	if err != nil {
		return err
	}
	copy(m.Opening[:], box.Seal(nil, 0, true, append(o.Salt[:], o.Blinding[:]...)))
	return nil
}

// OpenOpening is the inverse of SealOpening.
func (s BoundPlan) OpenOpening(secret *channel.Secret, node uint32, m *Partial) (o Opening, err error) {
	box, err := s.openingBox(secret, node, m)
	if err != nil {
		return o, err
	}
	b, err := box.Open(nil, 0, true, m.Opening[:])
	if err != nil {
		return o, fmt.Errorf("%w: opening of %s", ErrSealed, s.Name(node))
	}
	copy(o.Salt[:], b)
	copy(o.Blinding[:], b[len(o.Salt):])
	return o, nil
}

func (s BoundPlan) openingBox(secret *channel.Secret, node uint32, m *Partial) (*channel.Box, error) {
	ctx := append(u32bytes(node), s.setContext(m.Round, m.Attempt, m.Set)...)
	return channel.NewBox(secret.Derive(openingKey, ctx), append([]byte("choir v1 opening\x00"), ctx...))
}

// OpenChunk authenticates and decrypts one chunk. The plaintext has exactly the length of the
// chunk with that index.
func (s BoundPlan) OpenChunk(secret *channel.Secret, c *Chunk) ([]byte, error) {
	return s.OpenChunkTo(nil, secret, c)
}

// OpenChunkTo is OpenChunk that appends the plaintext, at most 512 KiB, to dst, which must not
// overlap the ciphertext.
func (s BoundPlan) OpenChunkTo(dst []byte, secret *channel.Secret, c *Chunk) ([]byte, error) {
	if c.Plan != s.ID.Prefix() {
		return nil, fmt.Errorf("%w: plan %x, not %s", ErrWrongPlan, c.Plan, s.ID)
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
