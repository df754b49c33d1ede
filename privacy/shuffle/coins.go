package shuffle

import "math"

// Every discrete pair of this package is a mixture of pairs F(s, lambda) for s >= 1 and lambda
// in [0, 1]: the number N of heads among s tosses of a fair coin, where with probability lambda the
// first coin shows heads under P and tails under Q. With M = s - N,
//
//	P = 2^-s C(s, N) (rest + 2 lambda N/s),  Q = 2^-s C(s, N) (rest + 2 lambda M/s),  rest = 1 - lambda.
//
// F increases with lambda (mixing both sides with fair tosses is post-processing) and decreases with
// s (adding a fair toss is). Its curve is convex in lambda, so that a mixture over lambda is
// bounded from above by spreading lambda over a grid, and from below by averaging it.

// part is a value of lambda and its probability.
type part struct{ lambda, rest, weight float64 }

// coins is a mixture over lambda for one s; s = 0 is the pair of equal distributions.
type coins struct {
	s     int
	parts []part
}

// side is on which side of a pair an approximation lies.
type side bool

const (
	above side = true
	below side = false
)

// blockBits determines the width of blocks of values of s, which is at most 2^-20 of them.
const blockBits = 20

// pick returns the end of a block that bounds a pair which decreases with the value.
func (v side) pick(lo, hi int) int {
	if v == above {
		return lo
	}
	return hi
}

// total returns the mass of all parts.
func (c coins) total() (mass float64) {
	for _, p := range c.parts {
		mass += p.weight
	}
	return mass
}

// heads returns the range of N outside of which at most the mass tail lies, under P and under Q.
func (c coins) heads(tail float64) (lo, hi int) {
	// Under P and Q the law is at most twice that of fair tosses.
	return binomial{c.s, 0.5, 0.5}.tails(tail / 4)
}

// atoms is the number of atoms of the mixture.
func (c coins) atoms(tail float64) int {
	if c.s == 0 {
		return 1
	}
	lo, hi := c.heads(tail)
	return len(c.parts) * (hi - lo + 1)
}

// each calls f with the masses of every atom under P and under Q.
func (c coins) each(tail float64, f func(p, q float64)) {
	if c.s == 0 {
		m := c.total()
		f(m, m)
		return
	}
	lo, hi := c.heads(tail)
	row := binomial{c.s, 0.5, 0.5}.row(lo, hi)
	s := float64(c.s)
	for _, x := range c.parts {
		slope := 2 * x.lambda / s
		for k, w := range row {
			heads := float64(lo + k)
			w *= x.weight
			f(w*(x.rest+slope*heads), w*(x.rest+slope*(s-heads)))
		}
	}
}

// farthest returns the largest finite loss of the mixture.
func (c coins) farthest(tail float64) (loss float64) {
	if c.s == 0 {
		return 0
	}
	lo, hi := c.heads(tail)
	s := float64(c.s)
	for _, x := range c.parts {
		n := float64(hi)
		if x.rest == 0 && lo == 0 {
			n = math.Min(n, s-1) // beyond, the loss is infinite
		}
		slope := 2 * x.lambda / s
		loss = math.Max(loss, math.Log((x.rest+slope*n)/(x.rest+slope*(s-n))))
	}
	return loss
}
