package privacy

import "math"

// lattice is a distribution over the integers in one dimension, stored as its probabilities. It is
// the exact accountant for small noise, with which the tests compare the bounds.
type lattice struct {
	first int       // integer of mass[0]
	mass  []float64 // sums to 1 within 2^-40
}

// maxLattice bounds the memory and time of a Lattice.
const maxLattice = 1 << 20

// latticeReach is the number of standard deviations that are stored. The mass beyond is about e^-700.
const latticeReach = 37.5

// discreteGaussianLattice returns the distribution of the sum of parts discrete Gaussians of the given
// parameter sigma^2. T adaptive releases of one part each, shifted by s, have the curve of the
// sum of T parts shifted by T s, since that sum is a sufficient statistic for the shift.
func discreteGaussianLattice(variance float64, parts int) (*lattice, error) {
	if !(variance >= 1e-3) || parts < 1 {
		return nil, reject("a lattice of %d parts of variance %v", parts, variance)
	}
	r := int(math.Ceil(latticeReach * math.Sqrt(variance)))
	if width := float64(2*r+1) * float64(parts); width > maxLattice || width*width > 1e9 {
		return nil, reject("%d parts of variance %v are too wide for exact summation", parts, variance)
	}
	one := &lattice{first: -r, mass: make([]float64, 2*r+1)}
	for i := range one.mass {
		z := float64(i - r)
		one.mass[i] = math.Exp(-z * z / (2 * variance))
	}
	one.normalise()
	return one.times(parts), nil
}

// skellamLattice returns the Skellam distribution of the given variance, e^-v I_|k|(v), computed by
// Miller's backward recurrence.
func skellamLattice(variance float64) (*lattice, error) {
	if !(variance >= 1e-3) || 2*(latticeReach*math.Sqrt(variance)+100) > maxLattice {
		return nil, reject("a Skellam lattice of variance %v", variance)
	}
	r := int(math.Ceil(latticeReach*math.Sqrt(variance))) + 60
	l := &lattice{first: -r, mass: make([]float64, 2*r+1)}
	above, here := 0.0, math.SmallestNonzeroFloat64*0x1p60
	for k := r; k >= 0; k-- {
		l.mass[r+k], l.mass[r-k] = here, here
		above, here = here, above+2*float64(k)/variance*here
		if here > 1e280 {
			// Rescale: mass that underflows is negligible compared with the peak.
			above, here = above*1e-300, here*1e-300
			for j := range l.mass {
				l.mass[j] *= 1e-300
			}
		}
	}
	l.normalise()
	return l, nil
}

// wholeShift converts a distance to a shift. It reports false if no two lattices at that distance can
// overlap.
func wholeShift(distance float64) (shift int, ok bool) {
	if !(distance >= 0 && distance <= 2*maxLattice) {
		return 0, false
	}
	return int(distance), true
}

func (l *lattice) normalise() {
	var sum float64
	for _, m := range l.mass {
		sum += m
	}
	for i := range l.mass {
		l.mass[i] /= sum
	}
}

// times returns the distribution of the sum of n independent copies, by squaring.
func (l *lattice) times(n int) *lattice {
	out, power := &lattice{mass: []float64{1}}, l
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out = out.plus(power)
		}
		if n > 1 {
			power = power.plus(power)
		}
	}
	return out
}

func (l *lattice) plus(m *lattice) *lattice {
	s := &lattice{first: l.first + m.first, mass: make([]float64, len(l.mass)+len(m.mass)-1)}
	for i, a := range l.mass {
		if a == 0 {
			continue
		}
		row := s.mass[i : i+len(m.mass)]
		for j, b := range m.mass {
			row[j] += a * b
		}
	}
	return s
}

func (l *lattice) at(k int) float64 {
	if i := k - l.first; i >= 0 && i < len(l.mass) {
		return l.mass[i]
	}
	return 0
}

// Masses below tiny may be inaccurate, because they are nearly subnormal or the support was truncated.
const tiny = 1e-290

// divergence returns the hockey-stick divergence between the distribution and its shift. Integers whose
// mass under the shift is tiny count in full for an upper bound, and not at all otherwise.
func (l *lattice) divergence(shift int, epsilon float64, upper bool) (d float64) {
	e := math.Exp(epsilon)
	for i, m := range l.mass {
		q := l.at(l.first + i + shift)
		switch {
		case m == 0:
		case q < tiny:
			if upper {
				d += m
			}
		case epsilon > 600: // e^epsilon may overflow
			d += m * math.Max(0, -math.Expm1(epsilon+math.Log(q)-math.Log(m)))
		default:
			d += math.Max(0, m-e*q)
		}
	}
	return d
}

// epsilon returns the least epsilon of a shift at delta, rounded up. It is infinite if the noise is so
// narrow that the two distributions hardly overlap.
func (l *lattice) epsilon(shift int, delta float64) float64 {
	return leastEpsilon(delta, func(e float64) float64 { return l.divergence(shift, e, true) })
}

// LowerEpsilon returns a lower bound on the least epsilon of a shift at delta.
func (l *lattice) LowerEpsilon(shift int, delta float64) float64 {
	profile := func(e float64) float64 { return l.divergence(shift, e, false) }
	return leastEpsilon(delta*(1+1e-10), profile) * (1 - 1e-9)
}
