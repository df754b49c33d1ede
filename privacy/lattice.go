package privacy

import "math"

// Lattice is a distribution of noise over the integers in one dimension, held as its
// probabilities: the exact accountant for small noise and the judge of the bounds.
type Lattice struct {
	first int       // integer of mass[0]
	mass  []float64 // sums to 1 within 2^-40
}

// maxLattice bounds the memory and time of a Lattice.
const maxLattice = 1 << 20

// latticeReach is how many standard deviations are kept; beyond, e^-700 is left.
const latticeReach = 37.5

// DiscreteGaussianLattice is the sum of parts discrete Gaussians of the given parameter
// sigma^2. T adaptive releases of one part each, shifted by s, have the curve of the
// sum of T parts shifted by T s, since that sum is sufficient for the shift.
func DiscreteGaussianLattice(variance float64, parts int) (*Lattice, error) {
	if !(variance >= 1e-3) || parts < 1 {
		return nil, refuse("a lattice of %d parts of variance %v", parts, variance)
	}
	r := int(math.Ceil(latticeReach * math.Sqrt(variance)))
	if float64(2*r+1)*float64(parts) > maxLattice || float64(2*r+1)*float64(2*r+1)*float64(parts)*float64(parts) > 1e9 {
		return nil, refuse("%d parts of variance %v are too wide for exact summation", parts, variance)
	}
	one := &Lattice{first: -r, mass: make([]float64, 2*r+1)}
	for i := range one.mass {
		z := float64(i - r)
		one.mass[i] = math.Exp(-z * z / (2 * variance))
	}
	one.normalise()
	return one.times(parts), nil
}

// SkellamLattice is the Skellam distribution of the given variance: e^-v I_|k|(v), by
// Miller's backward recurrence.
func SkellamLattice(variance float64) (*Lattice, error) {
	if !(variance >= 1e-3) || 2*(latticeReach*math.Sqrt(variance)+100) > maxLattice {
		return nil, refuse("a Skellam lattice of variance %v", variance)
	}
	r := int(math.Ceil(latticeReach*math.Sqrt(variance))) + 60
	l := &Lattice{first: -r, mass: make([]float64, 2*r+1)}
	above, here := 0.0, math.SmallestNonzeroFloat64*0x1p60
	for k := r; k >= 0; k-- {
		l.mass[r+k], l.mass[r-k] = here, here
		above, here = here, above+2*float64(k)/variance*here
		if here > 1e280 {
			// What lies this far below the peak counts for nothing: scale it away.
			above, here = above*1e-300, here*1e-300
			for j := range l.mass {
				l.mass[j] *= 1e-300
			}
		}
	}
	l.normalise()
	return l, nil
}

// wholeShift is a shift by so many integers, if that is one with which two lattices can overlap.
func wholeShift(distance float64) (shift int, ok bool) {
	if !(distance >= 0 && distance <= 2*maxLattice) {
		return 0, false
	}
	return int(distance), true
}

func (l *Lattice) normalise() {
	var sum float64
	for _, m := range l.mass {
		sum += m
	}
	for i := range l.mass {
		l.mass[i] /= sum
	}
}

// times is the distribution of the sum of n independent copies, by squaring.
func (l *Lattice) times(n int) *Lattice {
	out, power := &Lattice{mass: []float64{1}}, l
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

func (l *Lattice) plus(m *Lattice) *Lattice {
	s := &Lattice{first: l.first + m.first, mass: make([]float64, len(l.mass)+len(m.mass)-1)}
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

func (l *Lattice) at(k int) float64 {
	if i := k - l.first; i >= 0 && i < len(l.mass) {
		return l.mass[i]
	}
	return 0
}

// Variance is that of the distribution. For small parameters a discrete Gaussian's differs from sigma^2.
func (l *Lattice) Variance() float64 {
	var v float64
	for i, m := range l.mass {
		z := float64(l.first + i)
		v += z * z * m
	}
	return v
}

// tiny is where a mass is no longer held to all of a float's digits, or was cut off.
const tiny = 1e-290

// divergence counts what has no mass, or a tiny one, on the other side whole if it is to be
// an upper bound, and not at all otherwise.
func (l *Lattice) divergence(shift int, epsilon float64, upper bool) (d float64) {
	e := math.Exp(epsilon)
	for i, m := range l.mass {
		q := l.at(l.first + i + shift)
		switch {
		case m == 0:
		case q < tiny:
			if upper {
				d += m
			}
		case epsilon > 600: // where e^epsilon nears the end of floats' range
			d += m * math.Max(0, -math.Expm1(epsilon+math.Log(q)-math.Log(m)))
		default:
			d += math.Max(0, m-e*q)
		}
	}
	return d
}

// Epsilon is the least epsilon of a shift at delta, rounded up; infinite where the noise is so
// narrow that the two hardly overlap.
func (l *Lattice) Epsilon(shift int, delta float64) float64 {
	return leastEpsilon(delta, func(e float64) float64 { return l.divergence(shift, e, true) })
}

// LowerEpsilon is a lower bound on it.
func (l *Lattice) LowerEpsilon(shift int, delta float64) float64 {
	return leastEpsilon(delta*(1+1e-10), func(e float64) float64 { return l.divergence(shift, e, false) }) * (1 - 1e-9)
}
