package noise

import (
	"encoding/binary"
	"math/bits"
)

// run sets the first samples of dst to what sample would return, from the words that
// s has buffered, and returns their number. It stops before the first sample that takes more
// than a proposal, an offset and an immediate acceptance, without consuming words for it.
// About one in thirty does; the caller then calls sample.
func (g *Gaussian) run(dst []int64, s *source) int {
	if g.envelope.width == 1 {
		return g.runNarrow(dst, s)
	}
	e, buf := g.envelope, s.buf[s.start:s.end]
	n, bins := 0, uint64(len(e.cells))
	for n < len(dst) && len(buf) >= 3*wordSize {
		w := binary.LittleEndian.Uint64(buf)
		k := e.choose(w)
		r, skewed := bits.Mul64(binary.LittleEndian.Uint64(buf[wordSize:]), e.width)
		surely := binary.LittleEndian.Uint64(buf[2*wordSize:]) > g.surely[k%columns]
		y, negative := k*e.width+r, -int64(w&1)
		if !surely || skewed < g.skew || k == bins || y == 0 {
			break
		}
		dst[n] = (int64(y) ^ negative) - negative
		n, buf = n+1, buf[3*wordSize:]
	}
	s.start = s.end - len(buf)
	return n
}

// runNarrow is run for bins of a single magnitude, which consume one word each.
func (g *Gaussian) runNarrow(dst []int64, s *source) int {
	e, buf := g.envelope, s.buf[s.start:s.end]
	n, bins := 0, uint64(len(e.cells))
	for n < len(dst) && len(buf) >= wordSize {
		w := binary.LittleEndian.Uint64(buf)
		k, negative := e.choose(w), -int64(w&1)
		if k == bins {
			break
		}
		dst[n] = (int64(k) ^ negative) - negative
		keep := 1
		if k|(w&1^1) == 0 { // zero has one sign only
			keep = 0
		}
		n, buf = n+keep, buf[wordSize:]
	}
	s.start = s.end - len(buf)
	return n
}

// choose returns the bin of the cell that a word selects.
func (e *envelope) choose(w uint64) uint64 {
	k := w >> (64 - columnBits)
	c := &e.column[k]
	if w>>1&(1<<heightBits-1) >= c.threshold {
		k = c.alias
	}
	return k
}
