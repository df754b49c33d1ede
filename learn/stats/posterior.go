package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

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
// In units of the scales, the noisy statistics are G = X'X + E and b = X'y + e. G is replaced by the
// estimate of X'X with the same eigenvectors (noiseaware.Curvature): the noise spreads eigenvalues, and
// of noise alone those of G would still tell something of the weights. With its eigenvalues l,
// b_i - l_i w_i is a sum of residuals, of variance l_i v with v the observations' noise, and of the
// statistics' own noise. An entry of E off the diagonal and of e has the variance s^2, one on the
// diagonal 49/25 s^2: with 2 s^2 its law would be the same in every basis, so that E w + e has about
// the variance s^2 (1 + |w|^2 + w_i^2) in the eigenvectors too. As independent Gaussians these add to
// the precision of w_i
//
//	l_i^2 / (l_i v + s^2 (1 + |w|^2 + w_i^2))
//
// which is the exact posterior's l_i / v when there is no noise, and vanishes where an eigenvalue is
// small compared with the noise. The prior is that of PriorOf, in the data's own units whatever the
// scales are, which noise moves too. |w|^2 is that of the posterior mean, found by iteration.
// Where noise alone would have the trace of G the posterior is the prior.
//
// The columns of a category's levels add up to 1. The linear form of a scaled record that says so is 0 for
// each, so that X'X and X'y are 0 along it, and what is there of G and b is noise: both are taken across all
// such forms, and the shift of a category's weights against the intercept is as the prior has it.
//
// A record that is longer than the radius has a weight s below 1, and s depends on its residual e: with
// k = -ds/d|z|^2 the weighted sum of residuals X'y - X'X w lacks n E[2 v k y x] by Stein's identity
// [Stein81], and weighted squares are too small. Both are taken from normal records whose weighted products
// are the revealed ones, and so are the derivative of that sum by w, in the place of l_i, and its variance
// by sampling, in that of l_i v.
func (c Config) Posterior(raw []int64, noise float64) (*Posterior, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	p := &Posterior{Rounds: s.targets.rounds + s.residual.rounds}
	of, f := s.targets, frame{scales: c.scales(s, noise)}
	if s.residual.rounds > 0 {
		if f, err = c.frame(s, noise); err != nil {
			return nil, fmt.Errorf("posterior: %w", err)
		}
		of = s.residual
	}
	if of.rounds == 0 {
		return nil, fmt.Errorf("posterior: %w", ErrEmpty)
	}
	m := c.moments(of, noise)
	if m.drowned() {
		return c.nothing(p.Rounds), nil
	}
	to := c.mapped(f)
	fit, err := m.fit(c, to, c.prior(s, noise))
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	to.unscale(fit, p)
	return p, nil
}

// Prior returns the prior of the weights in the data's own units before a session: independent, around 0. It
// is public.
func (c Config) Prior() *gauss.Moments { return c.prior(state{}, 0).moments() }

// PriorOf is Prior after a public state's moment rounds, for noise as in Posterior: columns that are surely
// shorter than expected have weights that are as much longer, and the intercept makes up for where their
// means are. Errors: ErrShape.
func (c Config) PriorOf(raw []int64, noise float64) (*gauss.Moments, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("prior: %w", err)
	}
	return c.prior(s, noise).moments(), nil
}

// prior has independent slopes and, last, a mean target of records at these means, around 0.
type prior struct{ variance, means []float64 }

func (c Config) prior(s state, noise float64) prior {
	p := prior{make([]float64, c.Features), make([]float64, c.Features)}
	for j := range p.variance {
		var length float64
		length, p.means[j] = c.measured(s, noise, j)
		sd := c.length(c.Features) / length
		p.variance[j] = sd * sd / c.PriorPrecision
	}
	p.means[c.Features-1] = 0
	return p
}

// moments are those of single weights.
func (p prior) moments() *gauss.Moments {
	m := &gauss.Moments{Mean: make([]float64, len(p.variance)), Variance: slices.Clone(p.variance)}
	for j, x := range p.means {
		m.Variance[len(p.means)-1] += x * x * p.variance[j]
	}
	return m
}

// narrowest is the least length of a column within its bound.
const narrowest = 1e-3

// measured returns a column's length and its mean. The length is the one expected, unless moment rounds show
// a shorter one: their standard deviation and one of the noise on the variance more.
func (c Config) measured(s state, noise float64, j int) (length, mean float64) {
	length = c.length(j)
	if s.momentRounds == 0 || j == c.Features-1 {
		return length, 0
	}
	mean, v, sd := c.moment(s, noise, j)
	bound := c.bound(j)
	return min(length, bound*max(narrowest, math.Sqrt(max(0, v)+sd))), bound * mean
}

// hidden is how many standard deviations of its noise a variance may be from its measured one.
const hidden = 2

// Longer returns, for each weight, how many times as long as by PriorOf it may be: 1 unless moment rounds
// show that a column is shorter than expected while their noise hides how short, and for the intercept what
// such weights leave to it. Errors: ErrShape.
func (c Config) Longer(raw []int64, noise float64) ([]float64, error) {
	s, err := c.open(raw)
	if err != nil {
		return nil, fmt.Errorf("lengths: %w", err)
	}
	out := slices.Repeat([]float64{1}, c.Features)
	if s.momentRounds == 0 {
		return out, nil
	}
	own, last := c.prior(s, noise), c.Features-1
	intercept := own.moments().Variance[last]
	more := 0.0
	for j := range last {
		_, v, sd := c.moment(s, noise, j)
		expected := c.length(j) / c.bound(j)
		if v < hidden*sd && max(0, v)+hidden*sd < expected*expected {
			length, mean := c.measured(s, noise, j)
			out[j] = length / (narrowest * c.bound(j))
			more += mean * mean * own.variance[j] * (out[j]*out[j] - 1)
		}
	}
	out[last] = math.Sqrt(1 + more/intercept)
	return out, nil
}

// nothing is the posterior if the statistics tell nothing: the prior. An unknown noise of observations
// has the target's expected length.
func (c Config) nothing(rounds int64) *Posterior {
	m := c.Prior()
	p := &Posterior{Mean: m.Mean, Covariance: mat.NewSymDense(c.Features, nil), NoiseSD: c.NoiseSD,
		Rounds: rounds}
	for i, v := range m.Variance {
		p.Covariance.SetSym(i, i, v)
	}
	if p.NoiseSD == 0 {
		p.NoiseSD = c.length(c.Features)
	}
	return p
}

// length is the root of the mean square that a column is expected to have: without moment rounds its
// unit, and with them that of a uniform one within its bound, at most that of a standardised one.
func (c Config) length(j int) float64 {
	switch {
	case j == c.Features-1:
		return 1
	case c.MomentRounds == 0:
		return c.bound(j)
	}
	return min(1, c.bound(j)/math.Sqrt(3))
}

// scaling is the way from scaled units to the data's: with x = center + unit z for every feature and
// the target, the weights are A beta and the shift.
type scaling struct {
	a     *mat.Dense
	unit  float64 // of the target, or of residuals
	shift *mat.VecDense
	ties  []*mat.VecDense
}

func (c Config) mapped(f frame) scaling {
	d, target := c.Features, f.scales[c.Features]
	s := scaling{mat.NewDense(d, d, nil), target.unit, mat.NewVecDense(d, nil), c.ties(f.scales)}
	for j := range d - 1 {
		g := target.unit / f.scales[j].unit
		s.a.Set(j, j, g)
		s.a.Set(d-1, j, -g*f.scales[j].center)
	}
	s.a.Set(d-1, d-1, target.unit)
	if f.line != nil {
		s.shift.MulVec(s.a, mat.NewVecDense(d, f.line))
		s.a.Scale(f.length, s.a)
		s.unit *= f.length
	}
	s.shift.SetVec(d-1, s.shift.AtVec(d-1)+target.center)
	return s
}

// scaled returns a prior in scaled units, as its precision and the precision times the mean.
func (s scaling) scaled(p prior) (precision *mat.SymDense, linear *mat.VecDense) {
	d := len(p.variance)
	precision, linear = mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	row := mat.NewVecDense(d, nil)
	for i, v := range p.variance {
		row.CopyVec(s.a.RowView(i))
		shift := s.shift.AtVec(i)
		if i == d-1 {
			for j, mean := range p.means {
				row.AddScaledVec(row, mean, s.a.RowView(j))
				shift += mean * s.shift.AtVec(j)
			}
		}
		precision.SymRankOne(precision, 1/v, row)
		linear.AddScaledVec(linear, -shift/v, row)
	}
	return precision, linear
}

// unscale converts a posterior from scaled units to the data's.
func (s scaling) unscale(f fitted, p *Posterior) {
	d := len(f.mean)
	p.Mean, p.Covariance, p.NoiseSD = make([]float64, d), mat.NewSymDense(d, nil), math.Sqrt(f.variance)*s.unit
	mean := mat.NewVecDense(d, p.Mean)
	mean.MulVec(s.a, mat.NewVecDense(d, f.mean))
	mean.AddVec(mean, s.shift)
	var half, full mat.Dense
	half.Mul(s.a, f.covariance)
	full.Mul(&half, s.a.T())
	for i := range d {
		for j := i; j < d; j++ {
			p.Covariance.SetSym(i, j, 0.5*(full.At(i, j)+full.At(j, i)))
		}
	}
}
