package noise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// wordSize is the size of a word of randomness in bytes.
const wordSize = 8

// ErrRandomness reports that the bytes read are not uniform: a loop exceeded a limit that
// uniform bytes exceed with probability below 2^-200.
var ErrRandomness = errors.New("noise: the source of randomness is broken")

// source returns words of randomness and records the first error. After an error every word is
// zero, so that all loops end at their limits, and the sample is discarded.
type source struct {
	r          io.Reader
	buf        []byte
	start, end int // unread bytes are buf[start:end]
	err        error
}

// newSource returns a source that reads up to size bytes at a time. If size is wordSize, it never
// reads more than it needs.
func newSource(r io.Reader, size int) *source {
	return &source{r: r, buf: make([]byte, max(size, wordSize))}
}

// word returns the next 64 bits.
func (s *source) word() uint64 {
	if s.end-s.start < wordSize && !s.refill() {
		return 0
	}
	w := binary.LittleEndian.Uint64(s.buf[s.start:])
	s.start += wordSize
	return w
}

// wordIfAbove reports whether the next word is above the limit, and consumes it only then.
func (s *source) wordIfAbove(limit uint64) bool {
	if s.end-s.start < wordSize && !s.refill() {
		return false
	}
	if binary.LittleEndian.Uint64(s.buf[s.start:]) <= limit {
		return false
	}
	s.start += wordSize
	return true
}

// uniform returns a uniform integer below n, given skew = 2^64 mod n: the upper half
// of word * n, where words that would bias the result are rejected (Lemire 2019).
func uniform(s *source, n, skew uint64) uint64 {
	for range maxRestarts {
		if hi, lo := bits.Mul64(s.word(), n); lo >= skew {
			return hi
		}
	}
	s.fail()
	return 0
}

// refill moves the unread bytes to the front and reads at least one word.
func (s *source) refill() bool {
	if s.err != nil {
		return false
	}
	s.end = copy(s.buf, s.buf[s.start:s.end])
	s.start = 0
	n, err := io.ReadAtLeast(s.r, s.buf[s.end:], wordSize-s.end)
	s.end += n
	if err != nil {
		s.end = 0
		s.err = fmt.Errorf("noise: reading randomness: %w", err)
		return false
	}
	return true
}

// fail records that a loop exceeded its limit.
func (s *source) fail() {
	if s.err == nil {
		s.err = ErrRandomness
	}
}

// wipe clears the words that were read.
func (s *source) wipe() {
	clear(s.buf)
	s.start, s.end = 0, 0
}
