package noise

import "io"

const (
	// maxRestarts bounds the rejections of every algorithm in this package. All accept with
	// probability above 1/4 for every variance, and (3/4)^1024 < 2^-400.
	maxRestarts = 1024

	// maxMultiples bounds the geometric loop of Algorithm 2, which exceeds v with
	// probability exp(-v), and exp(-512) < 2^-700.
	maxMultiples = 512

	// readAhead is an estimate of the bytes that a sample consumes, from which Fill computes the
	// size of its buffer, at most maxBuffer.
	readAhead = 128
	maxBuffer = 8192
)

// Reference is the discrete Gaussian distribution N_Z(0, s^2), sampled by Algorithms 1 to 3 of
// [CKS20], tens of times slower than [Gaussian], which has the same distribution. Tests and
// benchmarks compare Gaussian with it. It is immutable and safe for concurrent use. The zero
// value is not valid.
type Reference struct {
	variance variance // s^2
	scale    uint64   // t = floor(s) + 1, at most 2^31 + 1
	skew     uint64   // 2^64 mod t
	gammaDen uint128  // 2 num den t^2, at most 2^127 because den t^2 <= (sqrt(num) + sqrt(den))^2
}

// NewReference returns the distribution with variance parameter s^2 = num/den, under
// the same limits as [newRational].
func NewReference(num, den uint64) (*Reference, error) {
	v, err := newVariance(num, den)
	if err != nil {
		return nil, err
	}
	t := v.root(1) + 1
	return &Reference{
		variance: v,
		scale:    t,
		skew:     -t % t,
		gammaDen: uint128{lo: t}.mul64(t).mul64(v.den).mul64(2 * v.num),
	}, nil
}

// Variance returns the variance parameter num/den in lowest terms.
func (g *Reference) Variance() (num, den uint64) { return g.variance.num, g.variance.den }

// Sample returns one sample and reads no more from r than it needs. On a read error, or
// [ErrRandomness], the sample is 0.
func (g *Reference) Sample(r io.Reader) (int64, error) {
	s := newSource(r, wordSize)
	defer s.wipe()
	x := g.sample(s)
	if s.err != nil {
		return 0, s.err
	}
	return x, nil
}

// Fill sets dst to independent samples. It reads r in blocks, and may read more than it needs.
// On a read error, or [ErrRandomness], all of dst is 0.
func (g *Reference) Fill(dst []int64, r io.Reader) error {
	s := newSource(r, min(readAhead*len(dst), maxBuffer))
	defer s.wipe()
	for i := range dst {
		dst[i] = g.sample(s)
		if s.err != nil {
			clear(dst)
			return s.err
		}
	}
	return nil
}

// sample is Algorithm 3. The magnitude is below 2^41 and needs no check. If the source has
// failed, the sample is undefined.
func (g *Reference) sample(s *source) int64 {
	for range maxRestarts {
		y, negative := g.laplace(s)
		if s.err != nil {
			return 0
		}
		if !g.accept(s, y) {
			continue
		}
		if negative {
			return -int64(y)
		}
		return int64(y)
	}
	s.fail()
	return 0
}

// laplace is Algorithm 2 for the discrete Laplace distribution of scale t, as a
// magnitude and a sign.
func (g *Reference) laplace(s *source) (y uint64, negative bool) {
	for range maxRestarts {
		u := uniform(s, g.scale, g.skew)
		f := ratio(u, g.scale)
		accepted := bernoulliExp(s, &f)
		if s.err != nil {
			return 0, false
		}
		if !accepted {
			continue
		}
		y = u + g.scale*geometric(s)
		negative = s.word()&1 == 1
		if y != 0 || !negative { // zero has one sign only
			return y, negative
		}
	}
	s.fail()
	return 0, false
}

// geometric returns v with probability proportional to exp(-v).
func geometric(s *source) uint64 {
	for v := range uint64(maxMultiples) {
		if !bernoulliExpOne(s) {
			return v
		}
	}
	s.fail()
	return 0
}

// accept is the last step of Algorithm 3: it returns true with probability
// exp(-gamma) for
//
//	gamma = (y - s^2/t)^2 / 2s^2 = (y t den - num)^2 / (2 num den t^2).
//
// y is below 513 t, so that the root of the numerator is below 2^74, and gamma below 2^50, since
// s >= 2^-16. Its integer part and its fraction are handled as in Algorithm 1.
func (g *Reference) accept(s *source, y uint64) bool {
	scaled := uint128{lo: y}.mul64(g.scale).mul64(g.variance.den)
	n2, n1, n0 := scaled.distance(uint128{lo: g.variance.num}).square()
	whole, rest := divide(n2, n1, n0, g.gammaDen)
	if !bernoulliExpInt(s, whole) {
		return false
	}
	word, _ := divide(rest.hi, rest.lo, 0, g.gammaDen)
	return bernoulliExp(s, &fraction{word: word, num: rest, den: g.gammaDen})
}
