package shuffle

import (
	"math"

	"choir/privacy/pld"
)

// ratio is the law of the density ratio of two reports, of the victim's two values, under a base law:
// above(v) is the base mass of ratios beyond v, and weighted(v) the mean of the ratio over them. Ratios
// are at least floor and at most top.
type ratio struct {
	above, weighted func(v float64) float64
	floor, top      float64
	cut             float64 // mass of the victim's report beyond top, if ratios are unbounded
}

// ratioOf returns the law of the ratio of the reports of 1 and 0 under that of 0, for values in [0, 1].
// Below 1/2 the least density of any value's report is that of 1, and beyond that of 0, so that it is
// also the law of the ratio of either to the blanket, for ratios above 1.
func (r Round) ratioOf(tail float64) ratio {
	if r.Kind == Laplace {
		half := math.Exp(-r.Eps0/2) / 2
		return ratio{
			above:    func(v float64) float64 { return half / math.Sqrt(v) },
			weighted: func(v float64) float64 { return 1 - half*math.Sqrt(v) },
			floor:    math.Exp(-r.Eps0), top: math.Exp(r.Eps0),
		}
	}
	s := r.Sigma
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	far := math.Sqrt(-2*math.Log(tail)) + 1/(2*s) // the mass of N(0, 1) beyond is below tail
	reach := math.Min((far+1/(2*s))/s, 600)
	out := ratio{
		above:    func(v float64) float64 { return phi(-1/(2*s) - s*math.Log(v)) },
		weighted: func(v float64) float64 { return phi(1/(2*s) - s*math.Log(v)) },
		floor:    math.Exp(-reach), top: math.Exp(reach),
	}
	out.cut = out.weighted(out.top)
	return out
}

// Numbers of cells into which the logarithms of the ratios are divided.
const (
	roughCells = 2_000
	fineUpper  = 4_000
	fineLower  = 16_000
)

// cellsFor returns the number of cells that belongs to a size of transforms.
func cellsFor(bits, fine int) int {
	if bits <= curveBits {
		return roughCells
	}
	return fine
}

// cells divides ratios from floor on into cells. The last one has those at the top and beyond, and the
// first those below floor if all is set.
func (r ratio) cells(floor float64, all bool, n int) []pld.Cell {
	var out []pld.Cell
	add := func(mass, sum, lo, hi float64) {
		if mass > 0 {
			out = append(out, pld.Cell{Mass: mass, Mean: math.Min(hi, math.Max(lo, sum/mass)), Lo: lo, Hi: hi})
		}
	}
	if all {
		add(1-r.above(floor), 1-r.weighted(floor), 0, floor)
	}
	step := math.Log(r.top/floor) / float64(n)
	for k := range n {
		lo, hi := floor*math.Exp(float64(k)*step), floor*math.Exp(float64(k+1)*step)
		add(r.above(lo)-r.above(hi), r.weighted(lo)-r.weighted(hi), lo, hi)
	}
	// An upper bound may take ratios beyond the top as the top, see cut; a lower one takes their mean.
	beyond, mean := r.above(r.top), r.top
	if all && beyond > 0 {
		mean = math.Max(r.top, r.weighted(r.top)/beyond)
	}
	add(beyond, beyond*mean, mean, mean)
	return out
}

// slackened is the relative error of the means of the cells, which are quotients of differences.
const slackened = 1e-10

// affine returns the cells of a + b X.
func affine(cells []pld.Cell, a, b float64) []pld.Cell {
	out := make([]pld.Cell, 0, 2*len(cells)+1)
	for _, c := range cells {
		x := pld.Cell{Mass: c.Mass, Mean: a + b*c.Mean, Lo: a + b*c.Lo, Hi: a + b*c.Hi}
		if b < 0 {
			x.Lo, x.Hi = x.Hi, x.Lo
		}
		out = append(out, x)
	}
	return out
}

// shifted moves all means by a relative error of the ratios.
func shifted(cells []pld.Cell, by float64) []pld.Cell {
	out := make([]pld.Cell, len(cells))
	for i, c := range cells {
		c.Mean *= 1 + by
		c.Lo, c.Hi = math.Min(c.Lo, c.Mean), math.Max(c.Hi, c.Mean)
		out[i] = c
	}
	return out
}

// upperDelta bounds the curve of the blanket at x = e^epsilon >= 1, by identity (*) of Theorem S1: it is
// (1/n) E max(0, G_1 + ... + G_n) with G = (R0 - x R1)/b under the blanket b = min(R0, R1), and G = 0
// with the mass that the blanket does not have.
func (r Round) upperDelta(law ratio, x float64, bits int) float64 {
	half := law.cells(1, false, cellsFor(bits, fineUpper))
	g := affine(shifted(half, slackened), -x, 1)
	g = append(g, affine(shifted(half, -slackened), 1, -x)...)
	g = append(g, pld.Cell{Mass: 1 - 2*law.above(1)})
	hi := pld.Excess(g, r.Users, bits, true)
	return math.Min(1, hi/float64(r.Users)*(1+1e-12)+law.cut)
}

// lowerDelta returns the curve if the values of all other users are that of the victim: its first one,
// or its second one if reversed.
func (r Round) lowerDelta(law ratio, x float64, bits int, reversed bool) float64 {
	all := law.cells(law.floor, true, cellsFor(bits, fineLower))
	g := affine(shifted(all, slackened), 1, -x)
	if reversed {
		g = affine(shifted(all, -slackened), -x, 1)
	}
	lo := pld.Excess(g, r.Users, bits, false)
	return math.Max(0, lo/float64(r.Users)*(1-1e-12))
}

// amplified returns the curve of (rate P + (1-rate) Q, Q) from that of (P, Q).
func amplified(rate, x float64, curve func(x float64) float64) float64 {
	return rate * curve(1+(x-1)/rate)
}

// reportPoints is the number of points of the curve of a continuous round in a composition.
const reportPoints = 160

// Sizes of transforms, as powers of 2: to find an epsilon roughly, for a curve of many points, and for
// the bound on a single round.
const (
	roughBits = 13
	curveBits = 14
	fineBits  = 19
)

// dominatingReports returns a lattice whose curve lies above that of a round with Laplace or Gaussian
// reports, for a composition.
func (r Round) dominatingReports(tail, rate float64) *pld.Lattice {
	law := r.ratioOf(tail)
	curve := func(l float64) float64 {
		return amplified(rate, math.Exp(l), func(x float64) float64 { return r.upperDelta(law, x, curveBits) })
	}
	// The grid ends where the curve is about the tail.
	high := math.Log(law.top)
	hi := 0x1p-20
	for curve(hi) > tail+2*law.cut && hi < high {
		hi *= 2
	}
	lo := hi / 2
	for range 4 {
		if mid := (lo + hi) / 2; curve(mid) > tail+2*law.cut {
			lo = mid
		} else {
			hi = mid
		}
	}
	hi = math.Min(hi, high)
	points := make([]point, reportPoints+1)
	for i := range points {
		l := hi * float64(i) / reportPoints
		points[i] = point{excess: math.Expm1(l), delta: curve(l)}
	}
	return chords(points)
}

// realisedReports returns the pair of real neighbours whose other values are all the victim's first one,
// in one direction, and a bound on the mass by which it is wrong under both laws together. The density
// ratio of the neighbours is the mean of the ratios of the reports.
func (r Round) realisedReports(tail, rate float64, reversed bool) (*pld.Lattice, float64) {
	law := r.ratioOf(tail)
	at, mass, far := pld.Law(law.cells(law.floor, true, roughCells), r.Users, curveBits)
	var atoms []pld.Atom
	top := 1.0
	for i, x := range at {
		w := rate*x/float64(r.Users) + 1 - rate
		if w <= 0 {
			continue
		}
		top = math.Max(top, w)
		a := pld.Atom{P: mass[i], Q: mass[i] * w}
		if reversed {
			a = pld.Atom{P: a.Q, Q: a.P}
		}
		atoms = append(atoms, a)
	}
	l := pld.NewLattice(atoms, 0)
	l.Cut(tail, false)
	return l, far * top
}

// reportsOnce returns the bound on a single round, from its curve.
func (r Round) reportsOnce(delta, tail, rate float64) float64 {
	law := r.ratioOf(tail)
	upper := func(bits int) func(float64) float64 {
		return func(e float64) float64 {
			return amplified(rate, math.Exp(e), func(x float64) float64 { return r.upperDelta(law, x, bits) })
		}
	}
	return refine(delta, upper(roughBits), upper(fineBits), 1)
}

// attainedOnce returns the lower bound on a single round.
func (r Round) attainedOnce(delta, tail, rate float64) (best float64) {
	law := r.ratioOf(tail)
	for _, reversed := range []bool{false, true} {
		lower := func(bits int) func(float64) float64 {
			return func(e float64) float64 {
				return amplified(rate, math.Exp(e), func(x float64) float64 {
					return r.lowerDelta(law, x, bits, reversed)
				})
			}
		}
		e := refine(delta, lower(curveBits), lower(fineBits-2), -1)
		if e == 0 { // the rough curve shows nothing
			e, _ = bracket(delta, lower(fineBits-2), 1e-2)
		}
		best = math.Max(best, e)
	}
	return best
}

// refine returns an epsilon, close to the least, at which the sharp curve is at most delta, or for side -1
// close to the largest at which it is above delta. It looks for it where the rough curve, which is farther
// on the same side, reaches delta. If it finds nothing better it returns what the rough curve proves.
func refine(delta float64, rough, sharp func(float64) float64, side float64) float64 {
	lo, hi := bracket(delta, rough, 1e-3)
	if hi == 0 || math.IsInf(hi, 1) {
		return hi
	}
	best := hi
	if side < 0 {
		best = lo
	}
	if best == 0 {
		return 0
	}
	beside := best * (1 - 1e-2)
	slope := math.Log(rough(best)/rough(beside)) / (best - beside)
	at, last := best, math.Inf(1)
	for range 6 {
		d := side * math.Log(sharp(at)/delta)
		if d <= 0 && side*(at-best) < 0 {
			best = at
		}
		if !math.IsInf(last, 1) && at != beside && d != last {
			slope = side * (d - last) / (at - beside)
		}
		if -1e-5 < d && d <= 0 || !(slope < 0) {
			break
		}
		beside, last = at, d
		// The secant aims a little beyond delta.
		if at -= side * (d + 5e-6) / slope; !(at > 0) {
			break
		}
	}
	return best
}

// bracket returns epsilons lo < hi, close to each other, between which a non-increasing curve falls to
// delta: hi is 0 if it is never above, and infinite if it is above up to epsilon 700.
func bracket(delta float64, curve func(float64) float64, width float64) (lo, hi float64) {
	if curve(0) <= delta {
		return 0, 0
	}
	for hi = 0x1p-16; curve(hi) > delta; hi *= 2 {
		if lo = hi; hi > 350 {
			return lo, math.Inf(1)
		}
	}
	for hi-lo > width*hi {
		if mid := (lo + hi) / 2; curve(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}
