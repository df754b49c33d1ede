package pld

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// unit is half the distance between 1 and the next float64.
const unit = 0x1p-53

// sum is the tilted loss distribution of a composition on a window: the mass at loss l is
// exp(lnM - theta l) times a tilted mass t(l), of which it stores the sums
// once[i] = sum of t(l) e^(-theta (l - l_i)) over l >= l_i = (first + i) step, and
// twice[i], the same with theta + 1.
type sum struct {
	step     float64
	shift    float64 // added to the losses of the grid
	first    int
	theta    float64
	lnM      float64 // sum of the steps' ln E e^(theta L)
	once     []float64
	twice    []float64
	roundoff float64 // bound on the summed errors of t
	outside  float64 // bound on the tilted mass outside the window, which is folded into it
	infinite float64 // bound on the mass at infinite loss
	certain  float64 // the mass at infinite loss of the lower bound
	most     float64 // the largest finite loss
	drift    float64 // bound on the relative error of all masses, over all steps
}

// massError bounds the relative error of one computed cell: exponentials of
// arguments up to 700 and the quadrature rule.
const massError = 0x1p-41

// plan determines the tilt, the grid and the window of a composition.
type plan struct {
	theta float64
	step  float64
	first float64    // loss at which the window begins
	bits  int        // of its size
	edges [2]float64 // Chernoff exponents that bound the mass below and above
	steps float64    // number of steps composed
	tail  float64    // mass that one step may cut at each end
}

// compose convolves counts[j] times steps[j] for all j, on the grid of the plan.
func compose(steps []*pmf, counts []int, p plan) *sum {
	n := 1 << p.bits
	s := &sum{step: p.step, theta: p.theta}
	for j, d := range steps {
		s.shift += float64(counts[j]) * d.shift
	}
	s.first = int(math.Floor((p.first - s.shift) / p.step))
	fft := fourier.NewFFT(n)
	freq := make([]complex128, n/2+1)
	errs := make([]float64, n/2+1)
	for k := range freq {
		freq[k] = 1
	}
	fold := make([]float64, n)
	var below, above, finite float64
	for j, d := range steps {
		c := float64(counts[j])
		lnM := d.cumulant(p.theta)
		s.lnM += c * lnM
		s.drift += c * 8 * unit * (math.Abs(lnM) + p.theta*d.farthest())
		s.infinite += c * d.infinite
		finite += c * math.Log1p(-math.Min(1, d.infinite))
		s.drift += c * d.err
		_, top := d.top()
		s.most += c * float64(top) * d.step * (1 + math.Copysign(4*unit, float64(top)))
		below += c * (d.cumulant(p.theta+p.edges[0]) - lnM)
		above += c * (d.cumulant(p.theta+p.edges[1]) - lnM)
		d.fold(fold, p.theta, lnM)
		multiply(freq, errs, fft.Coefficients(nil, fold), c, transformError(p.bits))
	}
	s.certain = -math.Expm1(finite)
	// The error of the exponentials of the tilt follows from that of their arguments.
	far := s.theta * math.Max(math.Abs(float64(s.first)), math.Abs(float64(s.first+n))) * p.step
	s.drift += p.steps*massError + 8*unit*(math.Abs(s.lnM)+far)
	s.finish(fft, freq, errs, p.bits)
	// Chernoff: P(S <= a) <= e^(K(t) - t a) for t < 0, and so on.
	below -= p.edges[0] * float64(s.first) * s.step
	above -= p.edges[1] * float64(s.first+n-1) * s.step
	s.outside = math.Min(1, math.Exp(below)+math.Exp(above))
	return s
}

// transformError bounds every coefficient's error of a transform of 2^bits
// non-negative numbers that sum to 1: at each level a twiddle factor (its
// argument, sine and product) and an addition.
func transformError(bits int) float64 { return 32 * unit * float64(bits+1) }

// multiply multiplies freq by f^count and updates errs, the bound on its error.
func multiply(freq []complex128, errs []float64, f []complex128, count, err float64) {
	for k, c := range f {
		r := math.Hypot(real(c), imag(c))
		// The exact coefficient is at most 1, so that reducing r to 1 adds no error.
		r = math.Min(r, 1)
		reach := math.Log(math.Min(1, r+err)) * (count - 1)
		if reach < -600 {
			freq[k], errs[k] = 0, 1e-250
			continue
		}
		power := math.Exp(count * math.Log(r))
		sin, cos := math.Sincos(count * math.Atan2(imag(c), real(c)))
		e := count*err*math.Exp(reach) + power*(count*8+8)*unit
		// (F + e1)(G + e2) - F G, with both factors at most 1.
		old := math.Hypot(real(freq[k]), imag(freq[k]))
		errs[k] = errs[k]*(power+e) + e*old + 4*unit*power*old
		freq[k] *= complex(power*cos, power*sin)
	}
}

// finish applies the inverse transform and adds up the round-off.
func (s *sum) finish(fft *fourier.FFT, freq []complex128, errs []float64, bits int) {
	n := len(freq)*2 - 2
	// Rotate so that the first element is the first point of the window.
	var squares, magnitudes float64
	for k, c := range freq {
		turn := k * (s.first % n) % n
		sin, cos := math.Sincos(2 * math.Pi * float64(turn) / float64(n))
		freq[k] = c * complex(cos, sin)
		m := math.Hypot(real(c), imag(c))
		e := errs[k] + 16*unit*m
		squares += 2 * e * e
		magnitudes += 2 * m * m
	}
	s.accumulate(fft.Sequence(nil, freq))
	// The sum of n errors is at most sqrt(n) times their 2-norm, which by Parseval's identity
	// is that of the coefficients over sqrt(n). At each level the inverse adds an error whose 2-norm
	// is at most the share of transformError of its input.
	s.roundoff = math.Sqrt(squares) + 1.5*transformError(bits)*math.Sqrt(magnitudes)
}

// accumulate sums from the top. t is n times the tilted mass.
func (s *sum) accumulate(t []float64) {
	n := len(t)
	s.once, s.twice = make([]float64, n), make([]float64, n)
	f, g := math.Exp(-s.theta*s.step), math.Exp(-(s.theta+1)*s.step)
	var once, twice float64
	for i := n - 1; i >= 0; i-- {
		mass := math.Max(0, t[i]/float64(n))
		once, twice = mass+f*once, mass+g*twice
		s.once[i], s.twice[i] = once, twice
	}
}

// tilted calls f with each cell and its mass times e^(theta loss - shift). It computes one
// exponential for each block of cells and a table of the others.
func (d *pmf) tilted(theta, shift float64, f func(i int, mass float64)) {
	const block = 64
	var table [block]float64
	for k := range table {
		table[k] = math.Exp(theta * float64(k) * d.step)
	}
	for i := 0; i < len(d.mass); i += block {
		base := theta*float64(d.first+i)*d.step - shift
		for k, m := range d.mass[i:min(i+block, len(d.mass))] {
			switch {
			case m == 0:
			case math.Abs(base) < 600:
				f(i+k, m*math.Exp(base)*table[k])
			default: // the factor may overflow although the product does not
				f(i+k, math.Exp(math.Log(m)+base+theta*float64(k)*d.step))
			}
		}
	}
}

// cumulant returns ln E e^(theta L) over the finite losses.
func (d *pmf) cumulant(theta float64) float64 {
	peak := math.Inf(-1) // up to the tilt over 16 cells
	for i := 0; i < len(d.mass); i += 16 {
		if m := slices.Max(d.mass[i:min(i+16, len(d.mass))]); m > 0 {
			peak = math.Max(peak, theta*float64(d.first+i)*d.step+math.Log(m))
		}
	}
	if math.IsInf(peak, -1) {
		peak = 0
	}
	var sum float64
	d.tilted(theta, peak, func(_ int, m float64) { sum += m })
	return peak + math.Log(sum)
}

// farthest returns the largest magnitude of a loss.
func (d *pmf) farthest() float64 {
	return d.step * math.Max(math.Abs(float64(d.first)), math.Abs(float64(d.first+len(d.mass))))
}

// fold sets dst to the tilted mass, divided by e^lnM, by residue modulo len(dst).
func (d *pmf) fold(dst []float64, theta, lnM float64) {
	clear(dst)
	n := len(dst)
	d.tilted(theta, lnM, func(i int, m float64) {
		dst[((d.first+i)%n+n)%n] += m
	})
}
