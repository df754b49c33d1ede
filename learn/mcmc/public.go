package mcmc

import (
	"encoding/binary"
	"math"

	"choir/crypto/blake"
	"choir/crypto/field"
	"choir/crypto/xof"
)

// Public is what a plan fixes besides the configuration.
type Public struct {
	// Seed is the plan's identity, which the plan's proposer may have chosen among many. The draws are
	// public, and follow from the revealed sums as well.
	Seed [32]byte
	// Variance is that of all parties' noise on a coordinate of a sum, in units of 4^-FracBits.
	Variance float64
}

// coins are the public draws of one round.
type coins struct {
	stream *xof.Stream
	words  field.Vector
	at     int
	chunk  uint64
	spare  float64
	has    bool
}

// purpose is what draws are for.
type purpose uint64

const (
	stepping purpose = iota // of a query
	drawing                 // of the draws of a trace posterior
	bendings                // of its curvatures
	deciding                // in a round whose sum is revealed
)

// sumsHash is a hash of the sums that were revealed so far, in order; 0 before the first.
type sumsHash [4]int64

// after is the hash when another sum is revealed.
func (h sumsHash) after(sum []int64) (next sumsHash) {
	hash := blake.NewHash("choir mcmc revealed sums")
	hash.Write(littleEndian(h[:]))
	hash.Write(littleEndian(sum))
	out := hash.Sum()
	for i := range next {
		next[i] = int64(binary.LittleEndian.Uint64(out[8*i:]))
	}
	return next
}

func littleEndian(v []int64) []byte {
	out := make([]byte, 0, 8*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out
}

// coinsOf derives the draws for a purpose in a round, after sums of this hash.
func (p Public) coinsOf(of purpose, round int64, sums sumsHash) (*coins, error) {
	s, err := xof.New(blake.Derive("choir mcmc public draws", p.Seed[:],
		littleEndian([]int64{int64(of), round}), littleEndian(sums[:])))
	return &coins{stream: s}, err
}

// uniform is uniform on the odd multiples of 2^-54 in (0, 1).
func (c *coins) uniform() float64 {
	if c.at == len(c.words) {
		if c.words == nil {
			c.words = make(field.Vector, 64)
		} else {
			c.chunk++
		}
		c.stream.Fill(c.words, c.chunk)
		c.at = 0
	}
	w := uint64(c.words[c.at])
	c.at++
	return float64(w>>11<<1|1) * 0x1p-54
}

// normal is standard normal, by Marsaglia's polar method.
func (c *coins) normal() float64 {
	if c.has {
		c.has = false
		return c.spare
	}
	for {
		u, v := 2*c.uniform()-1, 2*c.uniform()-1
		s := float64(u*u) + float64(v*v)
		if s >= 1 || s == 0 {
			continue
		}
		f := math.Sqrt(-2 * logOf(s) / s)
		c.spare, c.has = float64(v*f), true
		return float64(u * f)
	}
}

// frame returns the first k columns of an orthogonal matrix of dimension d, uniform on
// such: Gram-Schmidt, twice, on normal vectors. With a column its negative is as likely.
func (c *coins) frame(k, d int) [][]float64 {
	all := make([][]float64, k)
	for i := range all {
		v := make([]float64, d)
		for {
			for j := range v {
				v[j] = c.normal()
			}
			size := dot(v, v)
			for range 2 {
				for _, e := range all[:i] {
					add(v, -dot(v, e), e)
				}
			}
			if rest := dot(v, v); rest > 1e-6*size {
				scale(v, 1/math.Sqrt(rest))
				break
			}
		}
		all[i] = v
	}
	return all
}

// logOf is the natural logarithm of a positive finite number by additions, multiplications
// and divisions only, each rounded separately, so that it is the same on every machine. Its
// relative error is below 2^-48.
func logOf(x float64) float64 {
	const ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	t := (m - 1) / (m + 1) // |t| <= 0.172: log m = 2 (t + t^3/3 + ...)
	square := float64(t * t)
	sum := 0.0
	for n := 23.0; n >= 1; n -= 2 {
		sum = 1/n + float64(square*sum)
	}
	return float64(float64(e)*ln2Hi) + (float64(2*float64(t*sum)) + float64(float64(e)*ln2Lo))
}
