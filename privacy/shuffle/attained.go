package shuffle

import (
	"math"

	"choir/privacy/pld"
)

// Lower bounds on rounds with Laplace or Gaussian reports, all other values of which are the victim's.

// attainedOnce returns the lower bound on a single round, of which upper is an upper bound.
func (r Round) attainedOnce(delta, tail, rate, upper float64, coarse bool) (best float64) {
	fine := fineBits - 1
	if coarse {
		fine = lowerBits
	}
	if !r.exposed() {
		law := r.ratioOf(tail)
		for _, reversed := range []bool{false, true} {
			c := &climber{side: -1, at: func(e float64, scale, bits int) float64 {
				return amplified(rate, e, func(e float64) float64 {
					return r.lowerDelta(law, e, scale, bits, reversed)
				})
			}}
			rough := c.curve(lowerBits, false)
			lo, hi := bracket(delta, rough, math.Min(1, upper/8), 2e-2)
			best = math.Max(best, refine(delta, lo, hi, rough, c.curve(fine, true), -1))
		}
	}
	for _, u := range r.thresholds(tail) {
		l := r.counted(u, tail, rate)
		if l == nil {
			continue
		}
		if e, err := largest([]*pld.Lattice{l, mirrored(l)}, delta); err == nil {
			best = math.Max(best, e)
		}
	}
	return best
}

// thresholds are logarithms of ratios at which reports may be divided.
func (r Round) thresholds(tail float64) []float64 {
	const count = 40
	law := r.ratioOf(tail)
	var out []float64
	for i := range count {
		u := law.top * float64(i) / count
		// The mass must be far above where floats end.
		if law.above(u) > 1e-290 && law.weighted(u) > tail {
			out = append(out, u)
		}
	}
	return out
}

// counted returns the pair of the number of reports whose ratio is beyond e^u, which is post-processing. It
// is what is left of narrow noise: no other report hides one that lies far from the others' value. It is nil
// if it would have too many outputs.
func (r Round) counted(u, tail, rate float64) *pld.Lattice {
	law := r.ratioOf(tail)
	f := law.above(u)
	if lo, hi := (binomial{r.Users - 1, f, 1 - f}).tails(tail); hi-lo > maxAtoms {
		return nil
	}
	return listed(alike(r.Users, law.weighted(u), f, rate, binomial{0, 0, 1}, tail))
}

// sharpest returns the pair of counted that tells most, by its relative entropy.
func (r Round) sharpest(tail, rate float64) *pld.Lattice {
	most, best := 0.0, listed([]float64{1}, []float64{1})
	for _, u := range r.thresholds(tail) {
		l := r.counted(u, tail, rate)
		if l == nil {
			continue
		}
		entropy := 0.0
		for _, a := range l.Atoms {
			entropy += a.P * math.Log(a.P/a.Q)
		}
		if entropy > most && l.Infinite == 0 {
			most, best = entropy, l
		}
	}
	return best
}

// mirrored exchanges the laws of a pair.
func mirrored(l *pld.Lattice) *pld.Lattice {
	var atoms []pld.Atom
	for _, a := range l.Atoms {
		atoms = append(atoms, pld.Atom{P: a.Q, Q: a.P})
	}
	return pld.NewLattice(atoms, 0)
}

// realisedReports returns the pair of real neighbours whose other values are all the victim's first one, and
// a bound on the mass by which it is wrong under both laws together. The density ratio of the neighbours is
// the mean of the ratios of the reports. Reports that no epsilon up to upper makes likely count as one.
func (r Round) realisedReports(tail, rate, upper float64) (*pld.Lattice, float64) {
	law := r.ratioOf(tail)
	end := math.Min(law.top, math.Log(float64(r.Users))+math.Max(0.5, upper/math.Sqrt(float64(r.Count))))
	at, mass, far := pld.Law(law.cells(law.floor, end, true, fineLower), r.Users, lowerBits)
	var atoms []pld.Atom
	top := 1.0
	for i, x := range at {
		w := rate*x/float64(r.Users) + 1 - rate
		if w <= 0 {
			continue
		}
		top = math.Max(top, w)
		atoms = append(atoms, pld.Atom{P: mass[i], Q: mass[i] * w})
	}
	l := pld.NewLattice(atoms, 0)
	l.Cut(tail, false)
	return l, far * top
}
