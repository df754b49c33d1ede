package noise

import (
	"math/big"
	"math/bits"
)

// maxTailWords bounds the zero words that select a bin after the last: three of them follow
// a cell of the tail with probability 2^-192, and that cell has probability 2^-63.
const maxTailWords = 3

// rare handles the cells that belong to no bin, which makes the envelope exact. It
// returns a bin, or false to start over. Of the rare cells, one of which is drawn uniformly,
//
//   - cell 0 < k < K represents the fraction that the integer number of cells of bin k omits:
//     it is accepted with probability C f(k) - floor(C f(k));
//   - cell K represents all bins from the K-th on: bin K+v, v >= 0, is proposed with
//     probability 2^-(v+1), and accepted with probability C f(K+v) 2^(v+1). That is at
//     most 1 for v = 0, and decreases with v, since f(k+1)/f(k) <= 1/2 for k >= K;
//   - the others are rejected; f(0) = 1 omits no fraction.
//
// Hence bin k is chosen with probability proportional to C f(k) for every k >= 0. Less than one
// cell in 2^53 is rare, so that its cost does not matter.
func (g *Gaussian) rare(s *source) (uint64, bool) {
	bins := uint64(len(g.envelope.cells))
	switch k := uniform(s, g.envelope.rare, g.rareSkew); {
	case k == 0 || k > bins || s.err != nil:
		return 0, false
	case k < bins:
		return k, bernoulliReal(s, func(p uint) enclosure { return g.envelope.missing(k, p) })
	}
	v, ok := halvings(s)
	return bins + v, ok && bernoulliReal(s, func(p uint) enclosure { return g.envelope.tail(v, p) })
}

// enclosure is lo <= 2^p x <= hi for a number x and a precision p.
type enclosure struct{ lo, hi *big.Int }

// weight encloses C f(k).
func (e *envelope) weight(k uint64, p uint) enclosure {
	f := e.quotient(p).power(k*k, p)
	lo, hi := f.lo, f.hi()
	c := new(big.Int).SetUint64(e.factor)
	return enclosure{lo: lo.Mul(lo, c), hi: hi.Mul(hi, c)}
}

// missing encloses C f(k) - floor(C f(k)), for a bin.
func (e *envelope) missing(k uint64, p uint) enclosure {
	x := e.weight(k, p)
	whole := new(big.Int).SetUint64(e.cells[k])
	whole.Lsh(whole, p)
	return enclosure{lo: x.lo.Sub(x.lo, whole), hi: x.hi.Sub(x.hi, whole)}
}

// tail encloses C f(K+v) 2^(v+1).
func (e *envelope) tail(v uint64, p uint) enclosure {
	x := e.weight(uint64(len(e.cells))+v, p)
	return enclosure{lo: x.lo.Lsh(x.lo, uint(v)+1), hi: x.hi.Lsh(x.hi, uint(v)+1)}
}

// halvings returns v with probability 2^-(v+1).
func halvings(s *source) (uint64, bool) {
	for i := range uint64(maxTailWords) {
		if w := s.word(); w != 0 {
			return 64*i + uint64(bits.LeadingZeros64(w)), true
		}
	}
	s.fail()
	return 0, false
}

// realMargin is the number of bits that are computed in addition to those that are compared: more
// than the 90 + 192 that the enclosure of a weight and the factor of a tail may lose.
const realMargin = 384

// bernoulliReal returns true with the probability that p encloses at every precision.
// It draws a uniform number in [0, 1) a word at a time until the number lies outside the
// enclosure. No probability here is a dyadic fraction, so that each further word is needed
// with probability below 2^-63.
func bernoulliReal(s *source, p func(precision uint) enclosure) bool {
	u := new(big.Int)
	for i := range uint(maxTies) {
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.word()))
		above := new(big.Int).Add(u, big.NewInt(1))
		at := p(64*(i+1) + realMargin)
		if above.Lsh(above, realMargin).Cmp(at.lo) <= 0 {
			return true
		}
		if below := new(big.Int).Lsh(u, realMargin); below.Cmp(at.hi) >= 0 {
			return false
		}
	}
	s.fail()
	return false
}
