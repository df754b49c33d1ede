package stats

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
)

// ErrEmpty: no statistics were accepted yet.
var ErrEmpty = errors.New("no statistics yet")

// Posterior is a Gaussian over the weights, the bias's last, in the data's own units.
type Posterior struct {
	Mean       []float64
	Covariance *mat.SymDense
	NoiseSD    float64 // standard deviation of an observation, given or estimated
	// Rounds is the number of rounds whose statistics it includes.
	Rounds int64
}

// natural returns the posterior in the coordinates of gauss's full family.
func (p *Posterior) natural() ([]float64, error) {
	s := gauss.Space{Family: gauss.Full, Features: len(p.Mean)}
	return s.Natural(&gauss.Moments{Mean: p.Mean, Covariance: p.Covariance})
}

// Posterior returns the posterior of a public state. noise is the variance of all noise on
// one sum, in its unit squared, 0 without noise. It is post-processing of public numbers.
// Errors: ErrShape, ErrEmpty.
//
// In units of the scales, the noisy statistics are G = X'X + E and b = X'y + e. In the
// eigenvectors of G, with its eigenvalues l, b_i - l_i w_i is a sum of residuals, of
// variance l_i v with v the observations' noise, and of the statistics' own noise. An entry of
// E off the diagonal and of e has the variance s^2, one on the diagonal 49/25 s^2: with 2 s^2
// its law would be the same in every basis, so that E w + e has about the variance
// s^2 (1 + |w|^2 + w_i^2) in the eigenvectors too. As independent Gaussians these give w_i the
// precision
//
//	prior + l_i^2 / (l_i v + s^2 (1 + |w|^2 + w_i^2))
//
// which is the exact posterior's prior + l_i / v when there is no noise, decreases where an
// eigenvalue is small compared with the noise, and is the prior where it is negative. |w|^2
// is that of the posterior mean, found by iteration.
func (c Config) Posterior(raw []int64, noise float64) (*Posterior, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	if s.rounds == 0 {
		return nil, fmt.Errorf("posterior: %w", ErrEmpty)
	}
	m := c.moments(s, noise)
	scales := c.scales(s, noise)
	fit, err := m.fit(c, scales[c.Features].unit)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	p := c.unscale(fit, scales)
	p.Rounds = s.rounds
	return p, nil
}

// noisy is the mean of the rounds' statistics in scaled units.
type noisy struct {
	gram   *mat.SymDense // features, the bias last
	cross  []float64
	target float64
	sd     float64 // standard deviation of the noise on a product of two columns
}

func (c Config) moments(s state, noise float64) noisy {
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

// passes is the number of alternating estimates of |w| and the observations' noise; they
// converge after a few.
const passes = 8

func (m noisy) fit(c Config, targetUnit float64) (fitted, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(m.gram, true) {
		return fitted{}, fmt.Errorf("the eigenvalues do not converge: %w", gauss.ErrImproper)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values, d := eigen.Values(nil), c.Features
	var b, w mat.VecDense
	b.MulVec(vectors.T(), mat.NewVecDense(d, m.cross))
	coords, precision := mat.NewVecDense(d, nil), make([]float64, d)
	f := fitted{mean: make([]float64, d), variance: 1}
	if c.NoiseSD > 0 {
		f.variance = c.NoiseSD * c.NoiseSD / (targetUnit * targetUnit)
	}
	size := 0.0
	for range passes {
		for i, l := range values {
			precision[i] = c.PriorPrecision
			own := m.sd * m.sd * (1 + size + coords.AtVec(i)*coords.AtVec(i))
			coords.SetVec(i, 0)
			if l > 0 {
				scatter := l*f.variance + own
				precision[i] += l * (l / scatter)
				coords.SetVec(i, l/scatter*b.AtVec(i)/precision[i])
			}
		}
		size = mat.Dot(coords, coords)
		w.MulVec(&vectors, coords)
		if c.NoiseSD == 0 {
			f.variance = m.residual(&w, c)
		}
	}
	copy(f.mean, w.RawVector().Data)
	f.covariance = spread(&vectors, precision)
	return f, nil
}

// residual estimates the variance of an observation: the mean squared residual of the
// weights, over the (noisy) number of all records, between a thousandth of the targets' own
// square and all of it.
func (m noisy) residual(w *mat.VecDense, c Config) float64 {
	weight := max(m.gram.At(c.Features-1, c.Features-1), 1)
	sum := m.target - 2*mat.Dot(w, mat.NewVecDense(len(m.cross), m.cross)) + mat.Inner(w, m.gram, w)
	whole := max(m.target/weight, 0x1p-20)
	return min(max(sum/weight, whole/1000), whole)
}

// spread returns V diag(1/precision) V'.
func spread(vectors *mat.Dense, precision []float64) *mat.SymDense {
	n := len(precision)
	out := mat.NewSymDense(n, nil)
	column := mat.NewVecDense(n, nil)
	for i, p := range precision {
		column.CopyVec(vectors.ColView(i))
		out.SymRankOne(out, 1/p, column)
	}
	return out
}

// Prior returns the prior of the weights that Predictive's posterior starts from, in the
// data's own units. After moment rounds it depends on the public state, which has the
// units; noise is that of Posterior. Errors: ErrShape.
func (c Config) Prior(raw []int64, noise float64) (*gauss.Moments, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("prior: %w", err)
	}
	d := c.Features
	covariance := mat.NewSymDense(d, nil)
	for i := range d {
		covariance.SetSym(i, i, 1/c.PriorPrecision)
	}
	p := &Posterior{Mean: make([]float64, d), Covariance: covariance}
	if s.rounds > 0 {
		p = c.unscale(fitted{mean: p.Mean, covariance: covariance}, c.scales(s, noise))
	}
	m := &gauss.Moments{Mean: p.Mean, Variance: make([]float64, d), Covariance: p.Covariance}
	for i := range d {
		m.Variance[i] = p.Covariance.At(i, i)
	}
	return m, nil
}

// unscale converts a posterior from scaled units to the data's: with x = center + unit z
// for every feature and the target, the weights w = A beta + t for a fixed matrix A.
func (c Config) unscale(f fitted, scales []scale) *Posterior {
	d, target := c.Features, scales[c.Features]
	a := mat.NewDense(d, d, nil)
	for j := range d - 1 {
		g := target.unit / scales[j].unit
		a.Set(j, j, g)
		a.Set(d-1, j, -g*scales[j].center)
	}
	a.Set(d-1, d-1, target.unit)
	p := &Posterior{Mean: make([]float64, d), Covariance: mat.NewSymDense(d, nil),
		NoiseSD: math.Sqrt(f.variance) * target.unit}
	mean := mat.NewVecDense(d, p.Mean)
	mean.MulVec(a, mat.NewVecDense(d, f.mean))
	p.Mean[d-1] += target.center
	var half, full mat.Dense
	half.Mul(a, f.covariance)
	full.Mul(&half, a.T())
	for i := range d {
		for j := i; j < d; j++ {
			p.Covariance.SetSym(i, j, 0.5*(full.At(i, j)+full.At(j, i)))
		}
	}
	return p
}
