package shuffle

import (
	"math"
	"slices"

	"choir/privacy/pld"
)

// point is a value of a curve H_x(P||Q) at x = 1 + excess: delta, and the mass under Q of the outputs with
// P > x Q, which is minus the slope. Curves of this package are symmetric: those of (P, Q) and (Q, P) are
// equal.
type point struct{ excess, delta, q float64 }

// relativeError bounds the error of a curve against the sum of what it is a difference of.
const relativeError = 0x1p-37

// curve evaluates the curve of the mixture. What it does not list counts for an upper bound.
func (m mixture) curve(excess []float64) []point {
	out := make([]point, len(excess))
	pads := make([]float64, len(excess))
	for i, y := range excess {
		out[i].excess = y / m.rate
	}
	for _, c := range m.all {
		c.tails(m.cut, out, pads)
	}
	for i := range out {
		p := &out[i]
		p.excess = excess[i]
		pad := relativeError * pads[i]
		if m.side == above {
			p.delta = m.rate*(p.delta+pad) + m.lost + m.cut
		} else {
			p.delta = m.rate * math.Max(0, p.delta-pad-m.cut*p.excess/m.rate)
		}
	}
	return out
}

// tails adds the curve of one mixture to the points. With tosses of a fair coin in the place of all others
// the sum of w(N) (2N - s) over N >= n is n w(n), so that the outputs with N >= n add
//
//	H_x = lambda (1 + x) n/s w(n) - (x - 1) P(N >= n).
func (c coins) tails(cut float64, out []point, pads []float64) {
	if c.s == 0 {
		return
	}
	_, to := c.heads(cut)
	from := to + 1
	for _, p := range c.parts {
		if p.lambda > 0 {
			from = min(from, c.least(p, out[0].excess))
		}
	}
	if from > to {
		return
	}
	if few := len(c.parts) * len(out); few < (to-from)/64 {
		c.direct(to, out, pads)
		return
	}
	heads, beyond := c.weights(from, to)
	s, last := float64(c.s), float64(to)
	for _, part := range c.parts {
		if part.lambda == 0 {
			continue
		}
		rest, lambda, lift := s*part.rest, 2*part.lambda, part.weight*part.lambda
		for i := range out {
			p := &out[i]
			at := (rest*p.excess + s*lambda*(1+p.excess)) / (lambda * (2 + p.excess)) // see least
			if !(at <= last) {
				break
			}
			n := max(int(math.Ceil(at))-from, 0)
			above, all := lift*heads[n], part.weight*beyond[n]
			gain, loss := (2+p.excess)*above, p.excess*all
			p.delta += gain - loss
			p.q += all - above
			pads[i] += gain + loss
		}
	}
}

// weights returns n/s w(n) and P(N >= n) for the heads of c.s tosses of a fair coin, where N is at most to.
func (c coins) weights(from, to int) (heads, beyond []float64) {
	heads = binomial{c.s, 0.5, 0.5}.row(from, to)
	beyond = make([]float64, len(heads)+1)
	for i := len(heads) - 1; i >= 0; i-- {
		beyond[i] = beyond[i+1] + heads[i]
		heads[i] *= float64(from+i) / float64(c.s)
	}
	return heads, beyond
}

// least returns the least number of heads with P > x Q, at most s + 1.
func (c coins) least(p part, excess float64) int {
	at := float64(c.s) * (p.rest*excess + 2*p.lambda*(1+excess)) / (2 * p.lambda * (2 + excess))
	return int(math.Ceil(math.Min(at, float64(c.s+1))))
}

// direct is tails for few points: it computes each tail by itself.
func (c coins) direct(to int, out []point, pads []float64) {
	toss := binomial{c.s, 0.5, 0.5}
	for _, part := range c.parts {
		if part.lambda == 0 {
			continue
		}
		for i := range out {
			n := c.least(part, out[i].excess)
			if n > to {
				break
			}
			w := toss.mass(n)
			out[i].add(part, float64(c.s), float64(n), w, w*beyondRatio(float64(c.s), float64(n)), &pads[i])
		}
	}
}

// add adds the outputs with at least n heads, of which n has the mass w and all together have beyond.
func (p *point) add(x part, s, n, w, beyond float64, pad *float64) {
	lift := x.lambda * n / s * w
	gain, loss := (2+p.excess)*lift, p.excess*beyond
	p.delta += x.weight * (gain - loss)
	p.q += x.weight * (beyond - lift)
	*pad += x.weight * (gain + loss)
}

// beyondRatio returns P(N >= n)/P(N = n) for the heads of s tosses, n >= s/2, by the continued fraction of
// the incomplete beta function.
func beyondRatio(s, n float64) float64 {
	b := s - n + 1
	c, d := 1.0, 1/(1-(s+1)/(2*(n+1)))
	h := d
	for m := 1.0; m <= s; m++ {
		even := m * (b - m) / (2 * (n - 1 + 2*m) * (n + 2*m))
		d = 1 / (1 + even*d)
		c = 1 + even/c
		h *= d * c
		odd := -(n + m) * (s + 1 + m) / (2 * (n + 2*m) * (n + 1 + 2*m))
		d = 1 / (1 + odd*d)
		c = 1 + odd/c
		h *= d * c
		if math.Abs(d*c-1) < 0x1p-51 {
			break
		}
	}
	return h / 2
}

// grid evaluates the curve at epsilons up to where it is negligible, or where no finite loss is larger.
func (m mixture) grid() []point {
	farthest := 0.0
	for _, c := range m.all {
		farthest = math.Max(farthest, c.farthest(m.cut))
	}
	farthest = math.Log1p(m.rate * math.Expm1(farthest))
	for range 16 {
		const coarse = 256
		end := 1
		for _, p := range m.curve(fromEpsilons(equidistant(0, farthest, coarse)...))[1:] {
			if p.delta <= m.rate*(2*m.cut+m.lost) || end == coarse {
				break
			}
			end++
		}
		farthest *= float64(end) / coarse
		if end > coarse/4 {
			break
		}
	}
	at := equidistant(0, 1, m.points)
	for i, u := range at {
		at[i] = farthest * u * math.Sqrt(u) // more points where most of the mass is
	}
	return m.curve(fromEpsilons(at...))
}

// equidistant returns n + 1 equidistant numbers.
func equidistant(lo, hi float64, n int) []float64 {
	out := make([]float64, n+1)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(n)
	}
	out[n] = hi
	return out
}

// fromEpsilons returns e^epsilon - 1.
func fromEpsilons(epsilons ...float64) []float64 {
	out := make([]float64, len(epsilons))
	for i, e := range epsilons {
		out[i] = math.Expm1(e)
	}
	return out
}

// chords returns the symmetric pair whose curve for x >= 1 is the greatest convex curve that is nowhere
// above the points. If they lie above a convex curve, so does it.
func chords(points []point) *pld.Lattice {
	slope := func(a, b point) float64 { return (b.delta - a.delta) / (b.excess - a.excess) }
	var hull []point
	for _, p := range points {
		for n := len(hull); n >= 2 && slope(hull[n-2], hull[n-1]) >= slope(hull[n-1], p); n-- {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	// Where the curve stops to fall it is the mass at infinite loss.
	last := len(hull) - 1
	for last > 0 && hull[last].delta >= hull[last-1].delta {
		last--
	}
	infinite := hull[last].delta
	var atoms []pld.Atom
	next := 0.0 // slope after the point
	for i := last; i > 0; i-- {
		before := slope(hull[i-1], hull[i])
		if q := next - before; q > 0 { // the mass under Q
			p := q * (1 + hull[i].excess)
			atoms = append(atoms, pld.Atom{P: p, Q: q}, pld.Atom{P: q, Q: p})
		}
		next = before
	}
	return rest(atoms, infinite)
}

// rest adds the missing mass at loss 0.
func rest(atoms []pld.Atom, infinite float64) *pld.Lattice {
	mass := 1 - infinite
	for _, a := range atoms {
		mass -= a.P
	}
	if mass > 0 {
		atoms = append(atoms, pld.Atom{P: mass, Q: mass})
	}
	return pld.NewLattice(atoms, infinite)
}

// A cell of merged has at least the share leastShare of the mass beyond its start, so that the rounding of
// the sums changes its ratio by less than mergedError.
const (
	leastShare  = 0x1p-17
	mergedError = 0x1p-32
)

// merged returns the symmetric pair in which outputs with losses between two points are merged: its curve
// is below that of the points.
func merged(points []point) *pld.Lattice {
	var atoms []pld.Atom
	add := func(p, q float64) {
		if q *= 1 + mergedError; p > q && q > 0 {
			atoms = append(atoms, pld.Atom{P: p, Q: q}, pld.Atom{P: q, Q: p})
		}
	}
	beyond := func(x point) float64 { return x.delta + (1+x.excess)*x.q } // the mass under P
	start := points[0]
	for _, x := range points[1:] {
		if start.q-x.q >= leastShare*start.q {
			add(beyond(start)-beyond(x), start.q-x.q)
			start = x
		}
	}
	add(beyond(start), start.q)
	return rest(atoms, 0)
}

// crossing returns epsilons lo < hi, close to each other, between which a non-increasing curve falls to
// delta: both are 0 if it is nowhere above, and hi is infinite if it is above up to epsilon 64.
func (m mixture) crossing(delta float64) (lo, hi float64) {
	at := []float64{0}
	for e := 0x1p-40; e <= 64; e *= 4 {
		at = append(at, e)
	}
	var a, b float64 // ln(curve/delta) at lo and hi
	for range 2 {
		points := m.curve(fromEpsilons(at...))
		k := slices.IndexFunc(points, func(p point) bool { return p.delta <= delta })
		switch {
		case k == 0:
			return 0, 0
		case k < 0:
			return at[len(at)-1], math.Inf(1)
		}
		lo, hi = at[k-1], at[k]
		a, b = math.Log(points[k-1].delta/delta), math.Log(points[k].delta/delta)
		at = equidistant(lo, hi, 16)
	}
	// Regula falsi; the end that stays counts half, so that both move.
	for range 40 {
		if hi-lo <= 1e-10*hi {
			break
		}
		mid := lo + (hi-lo)*math.Min(1-1e-3, math.Max(1e-3, a/(a-math.Max(b, -1e3))))
		c := math.Log(m.curve(fromEpsilons(mid))[0].delta / delta)
		if c > 0 {
			lo, a, b = mid, c, b/2
		} else {
			hi, b, a = mid, c, a/2
		}
	}
	return lo, hi
}
