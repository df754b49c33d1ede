package pld

import (
	"fmt"
	"math"
)

// Precision is how fine the grid is.
type Precision struct {
	// Cells per standard deviation of one (tilted) step's loss, for the upper bound; the
	// lower takes half as many, since merging errs less than splitting. The gap falls with
	// the square. 0 means 200.
	Cells float64
	// MaxBits limits the transform to 2^MaxBits points; a coarser grid is taken where
	// Cells would need more. 0 means 20; at most 24.
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

// Upper is an upper bound on the epsilon at delta of the terms composed.
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
		// More points have made more round-off than they resolve: fewer are worth a try.
	}
	return best + slack(terms, c.tail)
}

// Lower is a lower bound on the same: the terms, composed, are not (epsilon,
// delta)-indistinguishable for any smaller epsilon. Amplified has no pair and is refused.
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

// lowerOnGrid is Lower for any number of steps. Where it is far from what the upper bound says
// on a rough grid, round-off may be the reason, and fewer points have less.
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

// check fills the precision in and refuses what isn't computed.
func check(terms []Term, delta float64, prec Precision) (Precision, error) {
	prec, err := prec.fill()
	if err != nil {
		return prec, err
	}
	if !(delta > 0 && delta < 1) || len(terms) == 0 {
		return prec, fmt.Errorf("%w: %d terms at delta %v", ErrTerm, len(terms), delta)
	}
	for _, t := range terms {
		if err := t.Validate(); err != nil {
			return prec, err
		}
	}
	return prec, nil
}

// core sums the window's part of delta(epsilon), and bounds the errors of all of it.
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

// upperDelta is infinite where a factor leaves the range of floats: nothing is claimed there.
// No finite loss is above the largest one, whatever the transform's round-off says.
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

// lowerDelta is 0 there.
func (s *sum) lowerDelta(epsilon float64) float64 {
	d, errs := s.core(epsilon - s.shift)
	if d = (d - errs) * math.Exp(-s.drift) * (1 - 1e-12); math.IsNaN(d) {
		return 0
	}
	return d
}

// slack covers how far the computed losses may lie from the true ones: their
// round-off, relative to a cell, shifts mass between neighbouring grid points.
func slack(terms []Term, tail float64) (total float64) {
	for _, t := range terms {
		lo, hi := span(t.pieces(tail))
		total += float64(t.Count) * 64 * unit * math.Max(1, math.Max(-lo, hi))
	}
	return total
}

// invert finds the least epsilon, to 10^-11, with upperDelta <= delta; infinite if there is
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

// largest finds an epsilon with lowerDelta > delta, about the largest; 0 if it finds none. Far
// from the tilt's centre errors drown the bound, so it looks down from the window's end, to
// its beginning and then at 0.
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
