package shuffle

import (
	"math"

	"choir/privacy/pld"
)

// ratio is the law of the density ratio of two reports, of the victim's two values, under a base law, by its
// logarithm: above(u) is the base mass of ratios beyond e^u, and weighted(u) the mean of the ratio over them,
// which is their mass under the other law. Ratios are at least e^floor and, but for a mass that is
// negligible, at most e^top.
type ratio struct {
	above, weighted func(u float64) float64
	floor, top      float64
	atoms           []pld.Cell // all ratios from 1 on, if they are few; half the mass of 1
}

// ratioOf returns the law of the ratio of the reports of 1 and 0 under that of 0, for values in [0, 1].
// Below 1/2 the least density of any value's report is that of 1, and beyond that of 0, so that it is
// also the law of the ratio of either to the blanket, for ratios above 1.
func (r Round) ratioOf(tail float64) ratio {
	if r.Levels > 0 {
		return levelRatios(r.Levels, r.Eps0)
	}
	if r.Kind == Laplace {
		half := math.Exp(-r.Eps0/2) / 2
		return ratio{
			above:    func(u float64) float64 { return half * math.Exp(-u/2) },
			weighted: func(u float64) float64 { return 1 - half*math.Exp(u/2) },
			floor:    -r.Eps0, top: r.Eps0,
		}
	}
	s := r.Sigma
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	far := math.Sqrt(-2*math.Log(tail)) + 1/(2*s) // the mass of N(0, 1) beyond is below tail
	reach := math.Min((far+1/(2*s))/s, 600)
	return ratio{
		above:    func(u float64) float64 { return phi(-1/(2*s) - s*u) },
		weighted: func(u float64) float64 { return phi(1/(2*s) - s*u) },
		floor:    -reach, top: reach,
	}
}

// beyond bounds the mean by which ratios exceed e^u.
func (r ratio) beyond(u float64) float64 {
	w := r.weighted(u)
	return math.Max(0, w-math.Exp(u)*r.above(u)) + 1e-14*w
}

// scales is the number of places at which ratios may be cut off, the last of which is the top.
const scales = 12

// end is the logarithm of the ratio from which on all reports count as one, for the curve at epsilon. Far
// ratios would need a wide and therefore coarse grid; what they change is bounded.
func (r ratio) end(epsilon float64, scale int) float64 {
	return math.Min(r.top, epsilon+(r.top-epsilon)*float64(scale)/scales)
}

// Numbers of cells into which the logarithms of the ratios are divided.
const (
	roughCells = 2_000
	fineUpper  = 12_000
	fineLower  = 16_000
)

// cellsFor returns the number of cells that belongs to a size of transforms.
func cellsFor(bits, fine int) int {
	if bits <= lowerBits {
		return roughCells
	}
	return fine
}

// cells divides ratios between e^from and e^end into n cells. The last one has those beyond, at e^end, or if
// all is set at their mean; then the first one has those below e^from.
func (r ratio) cells(from, end float64, all bool, n int) []pld.Cell {
	if r.atoms != nil {
		return r.listed(end, all)
	}
	var out []pld.Cell
	add := func(mass, sum, lo, hi float64) {
		if mass > 0 {
			out = append(out, pld.Cell{Mass: mass, Mean: math.Min(hi, math.Max(lo, sum/mass)), Lo: lo, Hi: hi})
		}
	}
	if all {
		add(1-r.above(from), 1-r.weighted(from), 0, math.Exp(from))
	}
	step := (end - from) / float64(n)
	a, w := r.above(from), r.weighted(from)
	for k := range n {
		u := from + float64(k+1)*step
		nextA, nextW := r.above(u), r.weighted(u)
		add(a-nextA, w-nextW, math.Exp(u-step), math.Exp(u))
		a, w = nextA, nextW
	}
	mean := math.Exp(end)
	if all && a > 0 {
		mean = math.Max(mean, w/a)
	}
	add(a, a*mean, mean, mean)
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
// with the mass that the blanket does not have. Ratios that are cut off raise the sum's positive part by at
// most what they exceed the cut by, and less negative G only raise it.
func (r Round) upperDelta(law ratio, epsilon float64, scale, bits int) float64 {
	x := math.Exp(epsilon)
	n := cellsFor(bits, fineUpper)
	end := law.end(epsilon, scale)
	back := math.Max(0, math.Min(end, math.Log(4*(1+math.Exp(end))/x)))
	g := affine(shifted(law.cells(0, end, false, n), slackened), -x, 1)
	g = append(g, affine(shifted(law.cells(0, back, false, n), -slackened), 1, -x)...)
	g = append(g, pld.Cell{Mass: 1 - 2*law.above(0)})
	hi := pld.Excess(g, r.Users, bits, true)
	return math.Min(1, hi/float64(r.Users)*(1+1e-12)+law.beyond(end))
}

// lowerDelta bounds the curve if the values of all other users are that of the victim: its first one,
// or its second one if reversed. Merging reports is post-processing.
func (r Round) lowerDelta(law ratio, epsilon float64, scale, bits int, reversed bool) float64 {
	x := math.Exp(epsilon)
	all := law.cells(law.floor, law.end(epsilon, scale), true, cellsFor(bits, fineLower))
	g := affine(shifted(all, slackened), 1, -x)
	if reversed {
		g = affine(shifted(all, -slackened), -x, 1)
	}
	lo := pld.Excess(g, r.Users, bits, false)
	return math.Max(0, lo/float64(r.Users)*(1-1e-12))
}

// climber evaluates a bound at the best scale near the last one.
type climber struct {
	at    func(epsilon float64, scale, bits int) float64
	side  float64 // 1 for upper bounds, -1 for lower ones
	scale int     // 0: all are tried
}

// best returns the bound at an epsilon, and keeps its scale.
func (c *climber) best(epsilon float64, bits int) float64 {
	if c.scale == 0 {
		return c.pick(epsilon, bits, 1, scales)
	}
	return c.pick(epsilon, bits, max(1, c.scale-1), min(scales, c.scale+1))
}

func (c *climber) pick(epsilon float64, bits, from, to int) float64 {
	best := math.Inf(1)
	for s := from; s <= to; s++ {
		if v := c.side * c.at(epsilon, s, bits); v < best {
			best, c.scale = v, s
		}
	}
	return c.side * best
}

// curve is the bound for a size of transforms. A sharp one takes the scale after the one that is kept: its
// finer grid has room for farther ratios.
func (c *climber) curve(bits int, sharp bool) func(epsilon float64) float64 {
	return func(e float64) float64 {
		if sharp {
			return c.at(e, min(scales, c.scale+1), bits)
		}
		return c.best(e, bits)
	}
}

// bounds is the climber of the upper bounds, at a rate of sampling.
func (r Round) bounds(law ratio, rate float64) *climber {
	return &climber{side: 1, at: func(e float64, scale, bits int) float64 {
		return amplified(rate, e, func(e float64) float64 { return r.upperDelta(law, e, scale, bits) })
	}}
}

// amplified returns the curve of (rate P + (1-rate) Q, Q) from that of (P, Q).
func amplified(rate, epsilon float64, curve func(epsilon float64) float64) float64 {
	if rate == 1 {
		return curve(epsilon)
	}
	return rate * curve(math.Log1p(math.Expm1(epsilon)/rate))
}

// reportPoints is the largest number of points of the curve of a continuous round in a composition, and
// coarseReports that at the precision of plans.
const (
	reportPoints  = 160
	coarseReports = 48
)

// Sizes of transforms, as powers of 2: to find an epsilon roughly, for a curve of many points, and for
// the bound on a single round.
const (
	roughBits = 13
	curveBits = 14
	lowerBits = 16
	fineBits  = 20
)

// dominatingReports returns a lattice whose curve lies above that of a round with Laplace or Gaussian
// reports, for a composition.
func (r Round) dominatingReports(tail, rate float64, count int) *pld.Lattice {
	law := r.ratioOf(tail)
	c := r.bounds(law, rate)
	coarse, curve := count <= coarsePoints, c.curve(curveBits, false)
	if coarse {
		count, curve = min(count, coarseReports), c.curve(roughBits, false)
	}
	// The grid ends where the curve is about the tail.
	_, hi := bracket(2*tail, curve, 0x1p-4, 0x1p-4)
	hi = math.Min(math.Max(hi, 0x1p-20), law.top)
	points := make([]point, count+1)
	for i := range points {
		l := hi * float64(i) / float64(count)
		points[i].excess = math.Expm1(l)
		if coarse && i%4 != 0 {
			points[i].delta = c.at(l, c.scale, roughBits)
		} else {
			points[i].delta = curve(l)
		}
	}
	lowered(points)
	return chords(points)
}

// lowered lowers upper bounds on a symmetric curve. At x the outputs with P > x Q have the masses q and
// H_x + x q under Q and P, and with those where they are exchanged at most 1, so that q, which is minus the
// slope, is at most (1 - H_x)/(1 + x).
func lowered(points []point) {
	for i := len(points) - 2; i >= 0; i-- {
		a, b := &points[i], points[i+1]
		c := (b.excess - a.excess) / (2 + a.excess)
		a.delta = math.Min(a.delta, (b.delta+c)/(1+c))
	}
}

// reportsOnce returns the bound on a single round, from its curve.
func (r Round) reportsOnce(delta, tail, rate float64, coarse bool) float64 {
	c := r.bounds(r.ratioOf(tail), rate)
	fine, guess, width := fineBits, 0x1p-16, 1e-3
	if coarse {
		fine, guess, width = lowerBits, 0x1p-4, 2e-2
	}
	lo, hi := bracket(delta, c.curve(roughBits, false), guess, width)
	return refine(delta, lo, hi, c.curve(roughBits, false), c.curve(fine, true), 1)
}

// refine returns an epsilon, close to the least, at which the sharp curve is at most delta, or for side -1
// close to the largest at which it is above delta. It looks for it where the rough curve, which is farther
// on the same side, reaches delta: between lo and hi. If it finds nothing better it returns what the rough
// curve proves.
func refine(delta, lo, hi float64, rough, sharp func(float64) float64, side float64) float64 {
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
	for range 8 {
		d := side * math.Log(sharp(at)/delta)
		if d <= 0 && side*(at-best) < 0 {
			best = at
		}
		if !math.IsInf(last, 1) && at != beside && d != last {
			slope = side * (d - last) / (at - beside)
		}
		near := -refined * slope * at
		if -near < d && d <= 0 || !(slope < 0) {
			break
		}
		beside, last = at, d
		// The secant aims a little beyond delta.
		if at -= side * (d + near/2) / slope; !(at > 0) {
			break
		}
	}
	return best
}

// refined is the relative error of the epsilons of refine against the sharp curve.
const refined = 2e-7

// bracket returns epsilons lo < hi, close to each other, between which a non-increasing curve falls to
// delta: hi is 0 if it is never above, and infinite if it is above up to epsilon 700. It looks near a first
// guess.
func bracket(delta float64, curve func(float64) float64, guess, width float64) (lo, hi float64) {
	if curve(0) <= delta {
		return 0, 0
	}
	for hi = guess; curve(hi) > delta; hi *= 2 {
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
