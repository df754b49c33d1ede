package shuffle

import (
	"math"
	"sort"
)

// binomial is the law of the number of successes in n trials.
type binomial struct {
	n    int
	p, q float64 // p + q = 1
}

// stirling returns ln(n!) - ln(sqrt(2 pi n) (n/e)^n) for n >= 1.
func stirling(n float64) float64 {
	if n < 16 {
		lf, _ := math.Lgamma(n + 1)
		return lf - 0.5*math.Log(2*math.Pi*n) - n*math.Log(n) + n
	}
	m := 1 / (n * n)
	return (1.0/12 - m*(1.0/360-m*(1.0/1260-m*(1.0/1680-m*(1.0/1188-m*691.0/360360))))) / n
}

// deviance returns x ln(x/m) + m - x, without cancellation for x near m.
func deviance(x, m float64) float64 {
	d := (x - m) / (x + m)
	if math.Abs(d) >= 0.1 {
		return x*math.Log(x/m) + m - x
	}
	// x ln(x/m) = 2 x atanh(d), and m - x = -2 x d + (x - m) d.
	s, term := (x-m)*d, 2*x*d
	for k := 3.0; ; k += 2 {
		term *= d * d
		next := s + term/k
		if next == s {
			return s
		}
		s = next
	}
}

// mass returns P(k) by Loader's saddle-point expansion.
func (b binomial) mass(k int) float64 {
	n, x := float64(b.n), float64(k)
	switch {
	case k < 0 || k > b.n:
		return 0
	case k == 0:
		return b.power(n, b.q, b.p)
	case k == b.n:
		return b.power(n, b.p, b.q)
	case b.p <= 0 || b.q <= 0:
		return 0
	}
	y := n - x
	e := stirling(n) - stirling(x) - stirling(y) - deviance(x, n*b.p) - deviance(y, n*b.q)
	return math.Exp(e) * math.Sqrt(n/(2*math.Pi*x*y))
}

// power returns base^n, base + other = 1.
func (b binomial) power(n, base, other float64) float64 {
	switch {
	case n == 0:
		return 1
	case base <= 0:
		return 0
	case other < 0.5:
		return math.Exp(n * math.Log1p(-other))
	}
	return math.Exp(n * math.Log(base))
}

// tails returns a range of k outside of which at most the mass tail lies on each side, by Chernoff's
// bound.
func (b binomial) tails(tail float64) (lo, hi int) {
	if b.p <= 0 || b.n == 0 {
		return 0, 0
	}
	if b.q <= 0 {
		return b.n, b.n
	}
	n, bar := float64(b.n), -math.Log(tail)
	far := func(k int) bool { // beyond the bound, or not on the side of k
		x := float64(k)
		return divergence(x, n-x, n*b.p, n*b.q) > bar
	}
	mid := int(math.Round(n * b.p))
	lo = mid - sort.Search(mid, func(d int) bool { return far(mid - d) })
	hi = mid + sort.Search(b.n-mid, func(d int) bool { return far(mid + d) })
	return lo, hi
}

// divergence returns x ln(x/m) + y ln(y/l) where x + y = m + l.
func divergence(x, y, m, l float64) float64 {
	part := func(x, m float64) float64 {
		if x == 0 {
			return m
		}
		return deviance(x, m)
	}
	return part(x, m) + part(y, l)
}

// row returns P(lo), ..., P(hi). It starts from the most likely value and multiplies by the ratios of
// neighbours, whose errors add up to less than 2^-38 over 2^13 values; after that it starts again.
func (b binomial) row(lo, hi int) []float64 {
	out := make([]float64, hi-lo+1)
	if b.p <= 0 || b.q <= 0 || b.n == 0 {
		for k := range out {
			out[k] = b.mass(lo + k)
		}
		return out
	}
	const run = 1 << 12
	up, down := b.p/b.q, b.q/b.p
	mid := min(max(int(float64(b.n+1)*b.p), lo), hi)
	for k := mid; k <= hi; k++ {
		if (k-mid)%run == 0 {
			out[k-lo] = b.mass(k)
			continue
		}
		out[k-lo] = out[k-lo-1] * (float64(b.n-k+1) / float64(k) * up)
	}
	for k := mid - 1; k >= lo; k-- {
		if (mid-k)%run == 0 {
			out[k-lo] = b.mass(k)
			continue
		}
		out[k-lo] = out[k-lo+1] * (float64(k+1) / float64(b.n-k) * down)
	}
	return out
}
