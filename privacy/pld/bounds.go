package pld

import (
	"fmt"
	"math"
)

// Precision determines the grid.
type Precision struct {
	// Cells is the number of cells per standard deviation of the (tilted) loss of one step, for the
	// upper bound. The lower bound uses half as many, since merging has smaller errors than
	// splitting. The gap decreases with the square. 0 means 200.
	Cells float64
	// MaxBits limits the transform to 2^MaxBits points. If Cells needs more points, the grid is
	// coarser. 0 means 20; at most 24.
	MaxBits int
}

func (p Precision) fill() (Precision, error) {
	if p.Cells == 0 {
		p.Cells = 200
	}
	if p.MaxBits == 0 {
		p.MaxBits = 20
	}
	if !(p.Cells >= 1 && p.Cells <= 1e6) || p.MaxBits < 8 || p.MaxBits > 24 {
		return p, fmt.Errorf("%w: precision %+v", ErrTerm, p)
	}
	return p, nil
}

// Upper returns an upper bound on the epsilon at delta of the composition of the terms. Errors:
// ErrTerm.
func Upper(terms []Term, delta float64, prec Precision) (float64, error) {
	prec, err := check(terms, delta, prec)
	if err != nil {
		return 0, err
	}
	if alone(terms) {
		return terms[0].upperAlone(delta), nil
	}
	return upperOnGrid(terms, delta, prec), nil
}

// upperOnGrid is Upper for any number of steps.
func upperOnGrid(terms []Term, delta float64, prec Precision) float64 {
	c := newChoice(terms, delta)
	theta, best := c.tilt()
	for bits := prec.MaxBits; bits > roughBits; bits -= 2 {
		e := onGrid(terms, c.plan(theta, Precision{prec.Cells, bits}, maxCells), dominate).invert(delta)
		if e <= best {
			best = e
			break
		}
		// More points can cause more round-off than they resolve, so fewer are tried as well.
	}
	return best + slack(terms, c.tail)
}

// Lower returns a lower bound: the composition of the terms is not (epsilon,
// delta)-indistinguishable for any smaller epsilon. It returns an error for Amplified, which has no
// pair.
func Lower(terms []Term, delta float64, prec Precision) (float64, error) {
	prec, err := check(terms, delta, prec)
	if err != nil {
		return 0, err
	}
	for _, t := range terms {
		if t.Kind == Amplified {
			return 0, fmt.Errorf("%w: an amplified curve is no pair, so it gives no lower bound", ErrTerm)
		}
	}
	if alone(terms) {
		return terms[0].lowerAlone(delta), nil
	}
	return lowerOnGrid(terms, delta, prec), nil
}

// lowerOnGrid is Lower for any number of steps. If the result is far from the upper bound on a rough
// grid, round-off may be the reason, which is smaller with fewer points.
func lowerOnGrid(terms []Term, delta float64, prec Precision) float64 {
	c := newChoice(terms, delta)
	theta, near := c.tilt()
	best := 0.0
	for bits := prec.MaxBits; bits >= roughBits && best < 0.98*near; bits -= 2 {
		p := c.plan(theta, Precision{math.Max(1, prec.Cells/2), bits}, maxMerged)
		best = math.Max(best, onGrid(terms, p, merged).largest(delta))
	}
	return math.Max(0, best-slack(terms, c.tail))
}

// check fills in the precision and returns an error for invalid input.
func check(terms []Term, delta float64, prec Precision) (Precision, error) {
	prec, err := prec.fill()
	if err != nil {
		return prec, err
	}
	if !(delta > 0 && delta < 1) || len(terms) == 0 {
		return prec, fmt.Errorf("%w: %d terms at delta %v", ErrTerm, len(terms), delta)
	}
	for _, t := range terms {
		if err := t.validate(); err != nil {
			return prec, err
		}
	}
	return prec, nil
}

// core returns the part of delta(epsilon) in the window and a bound on all errors.
func (s *sum) core(epsilon float64) (delta, errs float64) {
	errs = (s.roundoff + s.outside) * math.Exp(s.lnM-s.theta*epsilon)
	k := max(0, int(math.Floor(epsilon/s.step))+1-s.first)
	if k >= len(s.once) {
		return 0, errs
	}
	// Each loss above epsilon counts 1 - e^(epsilon - loss).
	loss := float64(s.first+k) * s.step
	scale := math.Exp(s.lnM - s.theta*loss)
	once, twice := s.once[k]*scale, s.twice[k]*scale*math.Exp(epsilon-loss)
	return once - twice, errs + 8*unit*float64(len(s.once))*(once+twice)
}

// upperDelta returns an upper bound on delta(epsilon). It is infinite if a factor overflows. No finite
// loss exceeds s.most, regardless of the round-off of the transform.
func (s *sum) upperDelta(epsilon float64) float64 {
	if epsilon >= s.most {
		return s.infinite * (1 + 1e-12)
	}
	d, errs := s.core(epsilon)
	d = (d+errs)*math.Exp(s.drift)*(1+1e-12) + s.infinite*(1+1e-12)
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// lowerDelta returns a lower bound on delta(epsilon). It is 0 if a factor overflows.
func (s *sum) lowerDelta(epsilon float64) float64 {
	d, errs := s.core(epsilon - s.shift)
	if d = (d - errs) * math.Exp(-s.drift) * (1 - 1e-12); !(d > 0) {
		d = 0
	}
	return d + s.certain*(1-1e-9)
}

// slack bounds the effect of the round-off of the losses, which shifts mass between adjacent grid
// points.
func slack(terms []Term, tail float64) (total float64) {
	for _, t := range terms {
		lo, hi := t.span(tail)
		if t.Kind == Discrete {
			total += float64(t.Count) * latticeError
		}
		total += float64(t.Count) * 64 * unit * math.Max(1, math.Max(-lo, hi))
	}
	return total
}

// invert returns the least epsilon, to 10^-11, with upperDelta <= delta; infinite if there is
// none.
func (s *sum) invert(delta float64) float64 {
	if s.upperDelta(0) <= delta {
		return 0
	}
	lo, hi := 0.0, s.most
	if s.upperDelta(hi) > delta {
		return math.Inf(1)
	}
	for hi-lo > 1e-11*hi {
		if mid := (lo + hi) / 2; s.upperDelta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// largest returns an epsilon with lowerDelta > delta that is close to the largest; 0 if it finds none.
// Far from the centre of the tilt errors exceed the bound, so that it searches downwards from the
// end of the window to its beginning, and then tries 0.
func (s *sum) largest(delta float64) float64 {
	hi := math.Max(0, float64(s.first+len(s.once))*s.step+s.shift)
	down := math.Min(hi, float64(len(s.once))*s.step) / 128
	lo, end := hi, math.Max(0, float64(s.first)*s.step+s.shift)
	for lo > end && s.lowerDelta(lo) <= delta {
		hi, lo = lo, lo-down
	}
	if lo <= end {
		lo = 0
	}
	for hi-lo > 1e-11*hi {
		if mid := (lo + hi) / 2; s.lowerDelta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
