package noise

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"

	"choir/crypto/blake"
	"choir/internal/parallel"
)

// SeedSize is the size of a [Seed] in bytes.
const SeedSize = keySize

// ChunkSamples is the number of samples that FillSeeded draws from each chunk of a seed.
const ChunkSamples = 65536

const redactedSeed = "noise.Seed(redacted)"

// Seed determines a vector of samples that can be drawn again, in pieces, in any
// order and in parallel: see FillChunk. It is secret: it reveals the noise, and together with
// the noised vector the data. It prints as a placeholder; seed[:] are its bytes, for the store
// of its owner. A structure with a Seed in an unexported field must redact itself: see xof.Key.
type Seed [SeedSize]byte

// NewSeed reads a seed from r, crypto/rand.Reader outside of tests. It returns [ErrRandomness]
// for 32 equal bytes, which indicate a broken source.
func NewSeed(r io.Reader) (s Seed, err error) {
	if _, err := io.ReadFull(r, s[:]); err != nil {
		return Seed{}, fmt.Errorf("noise: reading randomness: %w", err)
	}
	if bytes.Count(s[:], s[:1]) == SeedSize {
		return Seed{}, ErrRandomness
	}
	return s, nil
}

// chunkContext is that of the keys of chunks.
const chunkContext = "choir v1 noise chunk"

// FillChunk sets dst to the first len(dst) samples of a chunk of the seed, which are always the
// same and independent of those of every other chunk. The words of randomness are the
// AES-256-CTR keystream from counter 0 under the key
//
//	derive_key("choir v1 noise chunk", seed | chunk (8))
//
// of BLAKE3, with the integer in big endian. All else that follows from a seed, some of it public,
// does so under other contexts. On [ErrRandomness] all of dst is 0. It is safe for concurrent use.
func (g *Gaussian) FillChunk(dst []int64, seed Seed, chunk uint64) error {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], chunk)
	key := blake.Derive(chunkContext, seed[:], number[:])
	defer clear(key[:])
	return g.Fill(dst, bytes.NewReader(key[:]))
}

// FillSeeded sets dst to the samples of the seed, [ChunkSamples] from each chunk starting with
// chunk 0. It uses all cores. On [ErrRandomness] dst is undefined.
func (g *Gaussian) FillSeeded(dst []int64, seed Seed) error {
	chunks := (len(dst) + ChunkSamples - 1) / ChunkSamples
	return parallel.Try(chunks, func(c int) error {
		return g.FillChunk(dst[c*ChunkSamples:min(len(dst), (c+1)*ChunkSamples)], seed, uint64(c))
	})
}

// String returns a placeholder.
func (Seed) String() string { return redactedSeed }

// GoString returns a placeholder.
func (Seed) GoString() string { return redactedSeed }

// Format writes a placeholder for every verb.
func (Seed) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redactedSeed) }

// LogValue returns a placeholder.
func (Seed) LogValue() slog.Value { return slog.StringValue(redactedSeed) }

// MarshalText returns a placeholder, so that encoders that walk over a structure
// do not write the seed.
func (Seed) MarshalText() ([]byte, error) { return []byte(redactedSeed), nil }
