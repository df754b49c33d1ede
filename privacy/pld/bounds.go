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
	s, slack, err := prepare(terms, delta, prec, maxCells, dominate)
	if err != nil {
		return 0, err
	}
	return s.invert(delta) + slack, nil
}

// Lower is a lower bound on the same: the terms, composed, are not (epsilon,
// delta)-indistinguishable for any smaller epsilon. Amplified has no pair and is refused.
func Lower(terms []Term, delta float64, prec Precision) (float64, error) {
	for _, t := range terms {
		if t.Kind == Amplified {
			return 0, fmt.Errorf("%w: an amplified curve is no pair, so it gives no lower bound", ErrTerm)
		}
	}
	prec, err := prec.fill()
	if err != nil {
		return 0, err
	}
	prec.Cells = math.Max(1, prec.Cells/2)
	s, slack, err := prepare(terms, delta, prec, maxMerged, merged)
	if err != nil {
		return 0, err
	}
	return math.Max(0, s.largest(delta)-slack), nil
}

// discretiser is dominate or merged.
type discretiser func(t Term, step, tail float64) *pmf

// prepare discretises and composes with a tilt and a grid that suit delta.
func prepare(terms []Term, delta float64, prec Precision, cells int, discretise discretiser) (*sum, float64, error) {
	prec, err := prec.fill()
	if err != nil {
		return nil, 0, err
	}
	if !(delta > 0 && delta < 1) || len(terms) == 0 {
		return nil, 0, fmt.Errorf("%w: %d terms at delta %v", ErrTerm, len(terms), delta)
	}
	var steps float64
	for _, t := range terms {
		if err := t.Validate(); err != nil {
			return nil, 0, err
		}
		steps += float64(t.Count)
	}
	p := newPlan(terms, delta, steps, prec, cells)
	return onGrid(terms, p, discretise), slack(terms, p.tail), nil
}

// newPlan chooses tilt, grid and window. Whatever it chooses, the bounds hold.
func newPlan(terms []Term, delta, steps float64, prec Precision, cells int) plan {
	p := plan{steps: steps, tail: 1e-12 * delta / steps}
	f := newProfile(terms, p.tail)
	p.theta = f.tilt(delta)
	floor := f.resolution()
	_, _, variance := f.cumulants(p.theta)
	var lo, hi float64
	lo, p.edges[0] = f.reach(p.theta, -1)
	hi, p.edges[1] = f.reach(p.theta, 1)
	// A loss near its own bound has next to no deviation left: don't follow it down.
	_, _, plain := f.cumulants(0)
	deviation := math.Sqrt(math.Max(variance, plain/256) / steps)
	p.step = math.Max(floor, math.Max(deviation/prec.Cells, finest(terms, p.tail, cells)))
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

func onGrid(terms []Term, p plan, discretise discretiser) *sum {
	var steps []*pmf
	var counts []int
	for _, t := range terms {
		steps, counts = append(steps, discretise(t, p.step, p.tail)), append(counts, t.Count)
	}
	return compose(steps, counts, p)
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
	d, errs := s.core(epsilon)
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
	hi := float64(s.first+len(s.once)) * s.step
	down := math.Min(hi, float64(len(s.once))*s.step) / 128
	lo, end := hi, math.Max(0, float64(s.first)*s.step)
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
