package noise

import (
	"io"
	"math"
	"math/bits"
)

// Gaussian is the discrete Gaussian distribution N_Z(0, s^2). It is immutable and
// safe for concurrent use. The zero value is not valid.
//
// A sample is proposed and then accepted or not (von Neumann's rejection). The
// proposal is a cell of the envelope, that is a bin k, with a sign and an offset
// r uniform in [0, w): all magnitudes x = kw + r of a bin are proposed equally often,
// in proportion to f(k) = exp(-(kw)^2/2s^2). It is accepted with probability
//
//	exp(-x^2/2s^2) / f(k) = exp(-gamma),  gamma = r (2kw + r) / 2s^2,
//
// which leaves exp(-x^2/2s^2). Algorithm 1 of [CKS20] decides that with a word that is above
// gamma for most proposals; comparing it with the largest gamma of the bin first avoids the
// division. Zero has one sign only. The numbers of cells are integers and do not include a
// fraction of each f(k) or the bins after the last: see rare.go for those.
type Gaussian struct {
	variance variance
	envelope *envelope
	skew     uint64          // 2^64 mod the width
	rareSkew uint64          // 2^64 mod the number of rare cells
	surely   [columns]uint64 // the largest floor(2^64 gamma) of the bin; MaxUint64 if gamma may be 1 or more
}

// NewGaussian returns the distribution with the given variance parameter s^2, in
// grid units squared, from 1 to [maxVariance]. It returns [ErrVariance] for any other value.
// The variance of the distribution is s^2 up to a relative error below
// 80 s^2 exp(-2 pi^2 s^2), which is at most 3e-7, and never larger than s^2.
//
// It computes tables of 8 KiB in the time of some thousand samples, so callers should keep it.
func NewGaussian(variance uint64) (*Gaussian, error) {
	return newRational(variance, 1)
}

// newRational returns the distribution with variance parameter s^2 = num/den, in grid
// units squared. In lowest terms both must be at most [maxVariance], and s^2 at least
// 2^-32; otherwise it returns [ErrVariance]. For s below 1 the variance of the distribution
// is well below s^2: 0.0077 for s^2 = 9/100.
func newRational(num, den uint64) (*Gaussian, error) {
	v, err := newVariance(num, den)
	if err != nil {
		return nil, err
	}
	e := newEnvelope(v, envelopePrecision)
	g := &Gaussian{variance: v, envelope: e, skew: -e.width % e.width, rareSkew: -e.rare % e.rare}
	for k := range g.surely {
		g.surely[k] = math.MaxUint64
		if whole, f := g.gamma(uint64(k), e.width-1); whole == 0 {
			g.surely[k] = f.word
		}
	}
	return g, nil
}

// Variance returns the variance parameter num/den in lowest terms.
func (g *Gaussian) Variance() (num, den uint64) { return g.variance.num, g.variance.den }

// Sample returns one sample. Its words of randomness are the bytes of r, of which it
// reads no more than it needs. On a read error, or [ErrRandomness], the sample is 0.
func (g *Gaussian) Sample(r io.Reader) (int64, error) {
	s := newSource(r, wordSize)
	defer s.wipe()
	x := g.sample(s)
	if s.err != nil {
		return 0, s.err
	}
	return x, nil
}

// Fill sets dst to independent samples. It reads 32 bytes, a fresh AES-256 key, and
// uses its keystream as words of randomness: see the package comment. On a read
// error, or [ErrRandomness], all of dst is 0.
func (g *Gaussian) Fill(dst []int64, r io.Reader) error {
	if len(dst) == 0 {
		return nil
	}
	keystream, err := newKeystream(r)
	if err != nil {
		clear(dst)
		return err
	}
	if err := g.fill(dst, newSource(keystream, min(4*wordSize*len(dst), maxKeystreamBuffer))); err != nil {
		clear(dst)
		return err
	}
	return nil
}

// fill sets dst to samples from s and wipes s.
func (g *Gaussian) fill(dst []int64, s *source) error {
	defer s.wipe()
	for len(dst) > 0 {
		if n := g.run(dst, s); n > 0 {
			dst = dst[n:]
			continue
		}
		dst[0] = g.sample(s)
		if s.err != nil {
			return s.err
		}
		dst = dst[1:]
	}
	return nil
}

// sample returns a sample. Its magnitude is below 2^37: at most 370 bins of width at most
// 2^27 + 1. If the source has failed, the sample is undefined.
func (g *Gaussian) sample(s *source) int64 {
	e := g.envelope
	for range maxRestarts {
		w := s.word()
		k, ok := e.choose(w), true
		if k == uint64(len(e.cells)) {
			if k, ok = g.rare(s); !ok {
				continue
			}
		}
		r := uint64(0)
		if e.width > 1 {
			r = uniform(s, e.width, g.skew)
		}
		if e.width > 1 && !g.accept(s, k, r) {
			continue
		}
		y := int64(k*e.width + r)
		if negative := -int64(w & 1); y != 0 || negative == 0 {
			return (y ^ negative) - negative
		}
	}
	s.fail()
	return 0
}

// accept returns true with probability exp(-gamma). Algorithm 1 ends with
// true on a first word above gamma.
func (g *Gaussian) accept(s *source, k, r uint64) bool {
	if k < columns && s.wordIfAbove(g.surely[k]) {
		return true
	}
	whole, f := g.gamma(k, r)
	return bernoulliExpInt(s, whole) && bernoulliExp(s, &f)
}

// gamma returns r (2kw + r) den / 2 num as an integer and a fraction. Nothing overflows: r is 0
// if w is 1, and otherwise below w <= s/8, and k is below 400.
func (g *Gaussian) gamma(k, r uint64) (uint64, fraction) {
	hi, lo := bits.Mul64(r, 2*k*g.envelope.width+r)
	n := uint128{hi: hi, lo: lo}.mul64(g.variance.den)
	den := 2 * g.variance.num
	whole, rest := divide(0, n.hi, n.lo, uint128{lo: den})
	return whole, ratio(rest.lo, den)
}
