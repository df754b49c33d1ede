package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware"
)

// Posterior implements Sampler.
func (b *base) Posterior(raw []int64) (*Posterior, error) {
	s, err := b.cfg.open(raw)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	p := &Posterior{Chains: b.cfg.Chains, Tested: *s.tested, Accepted: *s.accepted}
	if t, ok := b.move.(trace); ok && t.ready(s) {
		return p, t.posterior(p, s)
	}
	if *s.kept > 1 {
		p.take(reals(s.draws), int(*s.kept)*b.cfg.Chains, b.cfg.Features)
		return p, nil
	}
	p.Mean = reals(s.theta[0])
	p.Covariance = mat.NewSymDense(b.cfg.Features, nil)
	for i := range b.cfg.Features {
		p.Covariance.SetSym(i, i, 1/b.cfg.PriorPrecision)
	}
	return p, nil
}

// take sets the draws, their mean and their covariance. A weight that never moved has a
// tiny variance instead of 0, with which nothing could be computed.
func (p *Posterior) take(all []float64, n, d int) {
	for i := range n {
		p.Draws = append(p.Draws, all[i*d:(i+1)*d])
	}
	p.Mean, p.Covariance = make([]float64, d), mat.NewSymDense(d, nil)
	for _, v := range p.Draws {
		add(p.Mean, 1/float64(n), v)
	}
	for _, v := range p.Draws {
		u := append([]float64(nil), v...)
		add(u, -1, p.Mean)
		p.Covariance.SymRankOne(p.Covariance, 1/float64(n-1), mat.NewVecDense(d, u))
	}
	for i := range d {
		p.Covariance.SetSym(i, i, 1.000001*max(p.Covariance.At(i, i), 1e-12))
		for j := range i {
			if n <= 2*d { // too few draws for correlations
				p.Covariance.SetSym(i, j, 0)
			}
		}
	}
}

// ready reports whether there is a round whose ratios count.
func (t trace) ready(s *state) bool {
	st, done := t.cfg.stageOf(*s.folded)
	return st == sampling && done > 0
}

// posterior sets the Gaussian of single weights and the one that predicts, with draws by public coins. They
// differ where there are few records of many columns: see narrowed.
func (t trace) posterior(p *Posterior, s *state) error {
	g := t.geometry(s)
	e := t.evidence(g, s)
	coins, err := t.public.coinsOf(bendings, 0, sumsHash(s.sums))
	if err != nil {
		return err
	}
	draws, average, err := e.curvatures(coins)
	if err != nil {
		return err
	}
	set := func(e evidence) (*mat.Cholesky, error) {
		q, err := e.posterior(draws, average)
		if err != nil {
			return nil, err
		}
		return t.gaussian(p, g, e, q)
	}
	chol, err := set(e)
	if err != nil {
		return err
	}
	p.Chains = 1
	single := t.longer(p, g, e, func(e evidence) (*approximation, error) { return e.posterior(draws, average) })
	if narrow, ok := t.narrowed(g, e); ok {
		if chol, err = set(narrow); err != nil {
			return err
		}
	}
	p.Weights, p.Variance = single.Mean, single.Variance
	p.Draws, err = t.drawn(g, sumsHash(s.sums), p.Mean, chol)
	return err
}

// gaussian sets a posterior by its approximation in phi, and returns the factor of the covariance there.
func (t trace) gaussian(p *Posterior, g *geometry, e evidence, q *approximation) (*mat.Cholesky, error) {
	keep, cov := q.keep, q.covariance
	d := t.cfg.Features
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return nil, fmt.Errorf("posterior: %w", ErrSingular)
	}
	p.Mean = append([]float64(nil), q.mean...)
	g.factor.solveT(p.Mean)
	p.Covariance = outward(g.factor, cov)
	whole := append([]float64(nil), p.Mean...)
	scale(p.Mean, keep)
	p.Swamped = keep < swamped
	if c, ok := t.class(g, e); ok {
		var shift float64
		shift, p.Rare = c.Correct(&gauss.Moments{Mean: p.Mean, Covariance: p.Covariance,
			Variance: diagonal(p.Covariance)})
		p.Mean[d-1] += shift
		whole[d-1] += shift
	}
	if err := t.assured(p, g, e, q); err != nil {
		return nil, err
	}
	p.Variance = t.moved(p, whole)
	return &chol, nil
}

// moved are the variances of single weights whose means were the whole ones: they count all of the way that
// they were moved, up to the prior's.
func (t trace) moved(p *Posterior, whole []float64) []float64 {
	out := diagonal(p.Covariance)
	for i, v := range out {
		away := whole[i] - p.Mean[i]
		out[i] = min(v+away*away, max(v, 1/t.cfg.PriorPrecision))
	}
	return out
}

// swamped is the share of the mean below which a posterior is reported to be of noise.
const swamped = 0.5

// drawn are draws around the mean with public coins, given the factor of the covariance in phi. The
// second half are the first half's reflections, so that all have the mean.
func (t trace) drawn(g *geometry, sums sumsHash, mean []float64, chol *mat.Cholesky) ([][]float64, error) {
	coins, err := t.public.coinsOf(drawing, 0, sums)
	if err != nil {
		return nil, err
	}
	var root mat.TriDense
	chol.LTo(&root)
	d := t.cfg.Features
	all := make([][]float64, t.cfg.Keep)
	half := (len(all) + 1) / 2
	for k := range half {
		v := make([]float64, d)
		e := make([]float64, d)
		for i := range e {
			e[i] = coins.normal()
			for j := range i + 1 {
				v[i] += root.At(i, j) * e[j]
			}
		}
		g.factor.solveT(v)
		all[k] = append([]float64(nil), mean...)
		add(all[k], 1, v)
		if half+k < len(all) {
			all[half+k] = append([]float64(nil), mean...)
			add(all[half+k], -1, v)
		}
	}
	return all, nil
}

// class is what the rounds tell of the rate of class one, and false without products of the columns.
func (t trace) class(g *geometry, e evidence) (noiseaware.Class, bool) {
	d, n := t.cfg.Features, t.cfg.Temper*float64(t.cfg.Records)
	if g.products == nil {
		return noiseaware.Class{}, false
	}
	c := noiseaware.Class{Records: n, Products: g.means(n), Doubt: 4 * g.doubt / n / math.Sqrt2,
		Point: append([]float64(nil), e.At...)}
	g.factor.solveT(c.Point)
	row := g.factor.row(d - 1)
	c.Score = dot(row, e.Gradient)
	c.ScoreSD = math.Sqrt(e.Noise * dot(row, row))
	return c, true
}

// least is the least share of the columns' mean squares that is left of what makes the products definite.
const least = 0.01

// means are the mean products of the columns of n records, the last of which is 1. What makes noisy
// products definite makes columns several times as long as they are: it stretches their spread, and
// with it that of the logits over a posterior. So columns have the length of the noisy products, whose
// sum errs less than each.
func (g *geometry) means(n float64) *mat.SymDense {
	d, by := g.factor.d, g.unstretched()
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			v := by * dot(g.factor.row(i), g.factor.row(j)[:i+1])
			if j == d-1 {
				v = g.products[i*d+j]
			}
			out.SetSym(i, j, 4*v/n)
		}
	}
	return out
}

// unstretched is the mean square of the columns over that of the coordinates phi.
func (g *geometry) unstretched() float64 {
	d := g.factor.d
	stretched, noisy := 0.0, 0.0
	for i := range d - 1 {
		stretched += dot(g.factor.row(i), g.factor.row(i))
		noisy += g.products[i*d+i]
	}
	return min(1, max(least, noisy/stretched))
}

// outward is a covariance in phi in the coordinates of the weights.
func outward(f triangle, cov *mat.SymDense) *mat.SymDense {
	back := mat.NewDense(f.d, f.d, nil) // the columns of F'^-1
	for j := range f.d {
		e := make([]float64, f.d)
		e[j] = 1
		f.solveT(e)
		back.SetCol(j, e)
	}
	var full mat.Dense
	full.Product(back, cov, back.T())
	return symmetric(&full)
}

func diagonal(m *mat.SymDense) []float64 {
	out := make([]float64, m.SymmetricDim())
	for i := range out {
		out[i] = m.At(i, i)
	}
	return out
}

// SD are the marginal standard deviations.
func (p *Posterior) SD() []float64 {
	sd := make([]float64, len(p.Mean))
	for i := range sd {
		sd[i] = math.Sqrt(p.Covariance.At(i, i))
		if p.Variance != nil {
			sd[i] = math.Sqrt(p.Variance[i])
		}
	}
	return sd
}
