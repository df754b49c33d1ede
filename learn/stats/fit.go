package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// noisy is the mean of the rounds' statistics in scaled units.
type noisy struct {
	gram   *mat.SymDense // features, the bias last
	cross  []float64
	target float64
	sd     float64 // standard deviation of the noise on a product of two columns
}

func (c Config) moments(s totals, noise float64) noisy {
	unit := math.Ldexp(1, -int(c.SumFracBits())) / float64(s.rounds)
	m := noisy{gram: mat.NewSymDense(c.Features, nil), cross: make([]float64, c.Features)}
	at := 0
	for i := range c.columns() {
		for j := i; j < c.columns(); j++ {
			v := float64(s.products[at]) * unit
			at++
			switch {
			case j < c.Features && i == j:
				m.gram.SetSym(i, j, v/onDiagonal)
			case j < c.Features:
				m.gram.SetSym(i, j, v/offDiagonal)
			case i < c.Features:
				m.cross[i] = v / offDiagonal
			default:
				m.target = v / onDiagonal
			}
		}
	}
	sd := math.Sqrt(float64(s.rounds)*noise) * unit
	m.sd = sd / offDiagonal
	return m
}

// fitted is a posterior in scaled units.
type fitted struct {
	mean       []float64
	covariance *mat.SymDense
	variance   float64 // of an observation
}

// Alternating estimates of |w| and the observations' noise converge after a few passes, and the law of
// clipped records after a few more.
const (
	least  = 8
	passes = 40
)

// fit returns the posterior; see Config.Posterior.
func (m noisy) fit(c Config, to scaling, own prior) (fitted, error) {
	x, err := m.spectrum(to.ties)
	if err != nil {
		return fitted{}, err
	}
	d, r := c.Features, len(x.values)
	b, coords := mat.NewVecDense(r, nil), mat.NewVecDense(r, nil)
	b.MulVec(x.vectors.T(), mat.NewVecDense(d, m.cross))
	prior, pull := to.scaled(own)
	f := fitted{mean: make([]float64, d), covariance: mat.NewSymDense(d, nil), variance: 1}
	if c.NoiseSD > 0 {
		f.variance = c.NoiseSD * c.NoiseSD / (to.unit * to.unit)
	}
	precision, linear := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	law := &clipped{}
	for pass := range passes {
		if pass >= least && !law.moves {
			break
		}
		precision.CopySym(prior)
		linear.CopyVec(pull)
		m.observe(precision, linear, law.score(x, f), x.values, b, coords)
		if err := f.solve(precision, linear); err != nil {
			return f, err
		}
		coords.MulVec(x.vectors.T(), mat.NewVecDense(d, f.mean))
		noise := 0.0
		if c.NoiseSD == 0 {
			w, errors := x.told(coords, f.learnt(prior))
			f.variance, noise = m.residual(w, errors, c, to.unit, law.largest())
			by := law.longer()
			f.variance, noise = by*f.variance, by*noise
		}
		if err := law.renew(c.Radius, m, x, f, prior, noise); err != nil {
			return f, err
		}
	}
	return f, nil
}

// observe adds to a precision, and to it times the mean, what the coordinates of X'y tell of the weights.
func (m noisy) observe(precision *mat.SymDense, linear *mat.VecDense, s score, values []float64,
	b, coords *mat.VecDense) {
	size := mat.Dot(coords, coords)
	for i, l := range values {
		if l > 0 {
			w := coords.AtVec(i)
			scatter := s.spread[i] + m.sd*m.sd*(1+size+w*w)
			precision.SymRankOne(precision, 1/scatter, s.slopes.ColView(i))
			linear.AddScaledVec(linear, (b.AtVec(i)+s.lacking[i])/scatter, s.slopes.ColView(i))
		}
	}
}

// clear is how many standard deviations of its noise the trace of X'X must be above 0.
const clear = 3

// drowned reports whether noise alone would have the trace of the sum.
func (m noisy) drowned() bool {
	return mat.Trace(m.gram) < clear*m.sd*math.Sqrt(2*float64(m.gram.SymmetricDim()))
}

// solve sets the moments of a Gaussian with the precision.
func (f *fitted) solve(precision *mat.SymDense, linear *mat.VecDense) error {
	var root mat.Cholesky
	if !root.Factorize(precision) {
		return fmt.Errorf("precision: %w", gauss.ErrImproper)
	}
	var warning mat.Condition // the numbers are finite
	err := root.SolveVecTo(mat.NewVecDense(len(f.mean), f.mean), linear)
	if err != nil && !errors.As(err, &warning) {
		return fmt.Errorf("mean: %w", err)
	}
	if err := root.InverseTo(f.covariance); err != nil && !errors.As(err, &warning) {
		return fmt.Errorf("covariance: %w", err)
	}
	return nil
}

// learnt is the variance of the mean around what the prior draws it to: C - C P C, with C the covariance
// and P the prior's precision.
func (f *fitted) learnt(prior *mat.SymDense) *mat.Dense {
	var out, drawn mat.Dense
	out.Mul(f.covariance, prior)
	drawn.Mul(&out, f.covariance)
	out.Sub(f.covariance, &drawn)
	return &out
}

// residual estimates the variance of an observation: the mean squared residual of the weights w, and of
// their error, over the noisy number of records, which counts as its noise if it is below that. With the
// law of Config.Posterior the noise on y'y - 2 w'X'y + w'X'Xw has the standard deviation sqrt(2) s
// (1 + |w|^2), and that on the error's part sqrt(2) s times the norm of its variance. It is at most the
// targets' mean square: four of their expected lengths, or what the sums surely show if that is more. unit
// is the target's.
func (m noisy) residual(mean []float64, errors *mat.Dense, c Config, unit,
	largest float64) (v, noise float64) {
	w := mat.NewVecDense(len(mean), mean)
	var missed mat.Dense
	missed.Mul(errors, m.gram)
	sd := math.Sqrt2 * m.sd
	records := max(m.gram.At(c.Features-1, c.Features-1), sd, 1)
	sum := m.target - 2*floats.Dot(mean, m.cross) + mat.Inner(w, m.gram, w) + mat.Trace(&missed)
	square := m.target / records
	expected := 4 * c.length(c.Features) / unit
	top := min(c.Radius*c.Radius*largest, max(square-clear*sd/records, expected*expected))
	whole := within(square, sd/records, top, 0)
	sd *= 1 + mat.Dot(w, w) + mat.Norm(errors, 2)
	return within(sum/records, sd/records, whole, 0.5), sd / records
}

// lowest is the smallest share of its limit that a variance is taken for.
const lowest = 0x1p-10

// within is the mean of a variance below top of which x is known, with a normal error of standard
// deviation sd, and nothing else. Its logarithm has a density that grows with a power of it: with 0 nothing
// is known of its size, and with 1/2 its root is uniform.
func within(x, sd, top, power float64) float64 {
	x = min(x, top)
	if sd == 0 {
		return max(x, lowest*top)
	}
	const steps = 1000
	nearest := max(x, 0)
	var mass, first float64
	for i := range steps {
		share := math.Pow(lowest, (float64(i)+0.5)/steps)
		v := share * top
		p := math.Pow(share, power) * math.Exp(((nearest-x)*(nearest-x)-(v-x)*(v-x))/(2*sd*sd))
		mass += p
		first += p * v
	}
	if mass == 0 { // the error is smaller than the steps
		return max(x, lowest*top)
	}
	return first / mass
}
