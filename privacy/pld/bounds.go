package pld

import (
	"fmt"
	"math"
)

// Precision is how fine the grid is.
type Precision struct {
	// Cells per standard deviation of one (tilted) step's loss. The gap between
	// upper and lower bound falls with its square. 0 means 200.
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
	s, err := prepare(terms, delta, prec, dominate)
	if err != nil {
		return 0, err
	}
	return s.invert(delta, s.upperDelta) + s.slack(terms), nil
}

// Lower is a lower bound on the same: the terms, composed, are not (epsilon,
// delta)-indistinguishable for any smaller epsilon. Amplified has no pair and is refused.
func Lower(terms []Term, delta float64, prec Precision) (float64, error) {
	for _, t := range terms {
		if t.Kind == Amplified {
			return 0, fmt.Errorf("%w: an amplified curve is no pair, so it gives no lower bound", ErrTerm)
		}
	}
	s, err := prepare(terms, delta, prec, merged)
	if err != nil {
		return 0, err
	}
	return math.Max(0, s.invert(delta, s.lowerDelta)-s.slack(terms)), nil
}

// discretiser is dominate or merged.
type discretiser func(t Term, step, tail float64) (*pmf, error)

// prepare discretises and composes with a tilt and a grid that suit delta.
func prepare(terms []Term, delta float64, prec Precision, discretise discretiser) (*sum, error) {
	prec, err := prec.fill()
	if err != nil {
		return nil, err
	}
	if !(delta > 0 && delta < 1) || len(terms) == 0 {
		return nil, fmt.Errorf("%w: %d terms at delta %v", ErrTerm, len(terms), delta)
	}
	var steps float64
	for _, t := range terms {
		if err := t.Validate(); err != nil {
			return nil, err
		}
		steps += float64(t.Count)
	}
	p := newPlan(terms, delta, steps, prec)
	for {
		s, err := onGrid(terms, p, discretise)
		if err != errTooFine {
			return s, err
		}
		p.step *= 2
	}
}

func newPlan(terms []Term, delta, steps float64, prec Precision) plan {
	p := plan{steps: steps, tail: 1e-12 * delta / steps}
	f := newProfile(terms, p.tail)
	p.theta = f.tilt(delta)
	_, _, variance := f.cumulants(p.theta)
	var lo, hi float64
	lo, p.edges[0] = f.reach(p.theta, -1)
	hi, p.edges[1] = f.reach(p.theta, 1)
	p.step = math.Sqrt(variance/steps) / prec.Cells
	p.first = lo - 8*p.step // room for the discretisation's own shift
	width := hi - lo + 16*p.step
	for p.bits = 8; float64(int(1)<<p.bits)*p.step < width; p.bits++ {
		if p.bits == prec.MaxBits {
			p.step = width / float64(int(1)<<p.bits)
			break
		}
	}
	return p
}

func onGrid(terms []Term, p plan, discretise discretiser) (*sum, error) {
	var steps []*pmf
	var counts []int
	for _, t := range terms {
		d, err := discretise(t, p.step, p.tail)
		if err != nil {
			return nil, err
		}
		steps, counts = append(steps, d), append(counts, t.Count)
	}
	return compose(steps, counts, p), nil
}

// core sums the window's part of delta(epsilon), and bounds the errors of all of it.
// Both are relative to e^(lnM - theta epsilon).
func (s *sum) core(epsilon float64) (delta, errs, scale float64) {
	scale = math.Exp(s.lnM - s.theta*epsilon)
	errs = s.roundoff + s.outside
	k := max(0, int(math.Floor(epsilon/s.step))+1-s.first)
	if k >= len(s.once) {
		return 0, errs, scale
	}
	// Each loss above epsilon counts 1 - e^(epsilon - loss).
	above := float64(s.first+k)*s.step - epsilon
	once, twice := s.once[k]*math.Exp(-s.theta*above), s.twice[k]*math.Exp(-(s.theta+1)*above)
	return once - twice, errs + 8*unit*float64(len(s.once))*(once+twice), scale
}

func (s *sum) upperDelta(epsilon float64) float64 {
	d, errs, scale := s.core(epsilon)
	return (d+errs)*scale*math.Exp(s.drift)*(1+1e-12) + s.infinite*(1+1e-12)
}

func (s *sum) lowerDelta(epsilon float64) float64 {
	d, errs, scale := s.core(epsilon)
	return (d - errs) * scale * math.Exp(-s.drift) * (1 - 1e-12)
}

// slack covers how far the computed losses may lie from the true ones: their
// round-off, relative to a cell, shifts mass between neighbouring grid points.
func (s *sum) slack(terms []Term) float64 {
	var n float64
	for _, t := range terms {
		n += float64(t.Count)
	}
	return n * 64 * unit
}

// invert finds where the profile crosses delta, within the window, by bisection.
func (s *sum) invert(delta float64, profile func(float64) float64) float64 {
	if profile(0) <= delta {
		return 0
	}
	lo, hi := 0.0, float64(s.first+len(s.once))*s.step
	if hi <= 0 || profile(hi) > delta {
		return math.Inf(1)
	}
	lo = math.Max(lo, float64(s.first)*s.step)
	if profile(lo) <= delta {
		hi, lo = lo, 0
	}
	for range 60 {
		if mid := (lo + hi) / 2; profile(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
		if hi-lo < 1e-11*hi {
			break
		}
	}
	return hi
}
