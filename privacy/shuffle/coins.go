package shuffle

import (
	"cmp"
	"math"
	"slices"
)

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

// block returns the last value of the block that begins at k: values are merged in blocks of a relative
// width of at most 2^-14.
func block(k, hi int) int { return min(hi, k+max(0, k>>blockBits-1)) }

const blockBits = 14

// pick returns the end of a block that bounds a pair which decreases with the value.
func (v side) pick(lo, hi int) int {
	if v == above {
		return lo
	}
	return hi
}

// few is the number of parts up to which a mixture is left as it is.
const few = 8

// reduce replaces the parts by at most 257, so that the mixture lies on the given side.
func (c *coins) reduce(v side) {
	lo, hi := c.parts[0], c.parts[0]
	for _, p := range c.parts {
		if p.lambda < lo.lambda {
			lo = p
		}
		if p.lambda > hi.lambda {
			hi = p
		}
	}
	width := hi.lambda - lo.lambda
	n := 1
	if width > 0 {
		fine := 2e-3
		if c.s >= 1<<blockBits {
			fine = 4e-3
		}
		n = min(256, 1+int(width/(fine*hi.lambda)))
	}
	nodes := make([]part, n+1)
	for _, p := range c.parts {
		at := (p.lambda - lo.lambda) / width * float64(n)
		if !(width > 0) {
			at = 0
		}
		i := min(int(at), n-1)
		f := at - float64(i)
		if v == below { // the node collects sums, for the mean
			nodes[i].lambda += p.weight * p.lambda
			nodes[i].rest += p.weight * p.rest
			nodes[i].weight += p.weight
			continue
		}
		nodes[i].weight += p.weight * (1 - f)
		nodes[i+1].weight += p.weight * f
	}
	c.parts = c.parts[:0]
	for i, p := range nodes {
		switch f := float64(i) / float64(n); {
		case p.weight == 0:
		case v == below:
			c.parts = append(c.parts, part{p.lambda / p.weight, p.rest / p.weight, p.weight})
		default:
			c.parts = append(c.parts, part{lo.lambda*(1-f) + hi.lambda*f, lo.rest*(1-f) + hi.rest*f, p.weight})
		}
	}
}

// most is the number of parts up to which a mixture grows before it is thinned.
const most = 1 << 10

// thin halves the number of parts, on the given side: every second one is spread over its neighbours,
// or averaged with the one before it.
func (c *coins) thin(v side) {
	slices.SortFunc(c.parts, func(a, b part) int { return cmp.Compare(a.lambda, b.lambda) })
	x := c.parts
	n := len(x) &^ 1
	for i := 1; i < n; i += 2 {
		a, b := &x[i-1], x[i]
		if v == below || i+1 == len(x) || !(x[i+1].lambda > a.lambda) {
			sum := a.weight + b.weight
			if v == above {
				*a = part{b.lambda, b.rest, sum} // the larger one
				continue
			}
			f := b.weight / sum
			*a = part{a.lambda*(1-f) + b.lambda*f, a.rest*(1-f) + b.rest*f, sum}
			continue
		}
		f := (b.lambda - a.lambda) / (x[i+1].lambda - a.lambda)
		a.weight += b.weight * (1 - f)
		x[i+1].weight += b.weight * f
	}
	kept := x[:0]
	for i := 0; i < len(x); i += 2 {
		kept = append(kept, x[i])
	}
	c.parts = kept
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
