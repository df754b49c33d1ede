package xof

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
	"log/slog"

	"choir/crypto/field"
)

// ChunkElements is the number of elements in a chunk: 512 KiB of encoding.
const ChunkElements = 65536

// Chunks returns the number of chunks of a vector of n elements.
func Chunks(n int) int {
	return (n + ChunkElements - 1) / ChunkElements
}

// Chunk returns chunk i of v: at most [ChunkElements] elements that share memory
// with v. It is empty if v ends before it.
func Chunk(v field.Vector, i uint64) field.Vector {
	if i >= uint64(Chunks(len(v))) {
		return nil
	}
	start := int(i) * ChunkElements
	end := min(start+ChunkElements, len(v))
	return v[start:end:end]
}

const redactedStream = "xof.Stream(redacted)"

// Stream is the expansion of a key. It is immutable and safe for concurrent
// use; it must not be copied. Like a key, it prints as a placeholder.
type Stream struct {
	block cipher.Block
}

// New returns the stream of a key. It does not keep the key.
func New(key Key) (*Stream, error) {
	defer clear(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("xof: keying AES: %w", err)
	}
	return &Stream{block: block}, nil
}

// Fill sets dst to the first len(dst) elements of the chunk. It panics if dst is
// longer than [ChunkElements].
func (s *Stream) Fill(dst field.Vector, chunk uint64) {
	s.expand(dst, chunk, new(scratch), set())
}

// addTo adds the first len(dst) elements of the chunk to dst. It panics if dst is
// longer than [ChunkElements].
func (s *Stream) AddTo(dst field.Vector, chunk uint64) {
	s.expand(dst, chunk, new(scratch), add())
}

// SubFrom subtracts the first len(dst) elements of the chunk from dst. It panics if
// dst is longer than [ChunkElements].
func (s *Stream) SubFrom(dst field.Vector, chunk uint64) {
	s.expand(dst, chunk, new(scratch), sub())
}

// AddAll adds the same chunk of each of the streams to dst, as addTo does, with a single buffer.
func AddAll(dst field.Vector, chunk uint64, streams []*Stream) {
	all(dst, chunk, streams, add())
}

// SubAll subtracts the same chunk of each of the streams from dst.
func SubAll(dst field.Vector, chunk uint64, streams []*Stream) {
	all(dst, chunk, streams, sub())
}

func all(dst field.Vector, chunk uint64, streams []*Stream, do combine) {
	buf := new(scratch)
	for _, s := range streams {
		s.expand(dst, chunk, buf, do)
	}
}

// String returns a placeholder.
func (s *Stream) String() string { return redactedStream }

// GoString returns a placeholder.
func (s *Stream) GoString() string { return redactedStream }

// Format writes a placeholder for every verb.
func (s *Stream) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redactedStream) }

// LogValue returns a placeholder.
func (s *Stream) LogValue() slog.Value { return slog.StringValue(redactedStream) }

// MarshalText returns a placeholder.
func (s *Stream) MarshalText() ([]byte, error) { return []byte(redactedStream), nil }
