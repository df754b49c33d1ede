package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
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

// posterior computes the Gaussian in phi, and draws from it with public coins.
func (t trace) posterior(p *Posterior, s *state) error {
	g := t.geometry(s)
	curvatures, err := t.public.coinsOf(2, 0)
	if err != nil {
		return err
	}
	mean, cov, err := tracePosterior(t.evidence(g, s), curvatures.normal)
	if err != nil {
		return err
	}
	d := t.cfg.Features
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return fmt.Errorf("posterior: %w", ErrSingular)
	}
	var root mat.TriDense
	chol.LTo(&root)
	coins, err := t.public.coinsOf(1, 0)
	if err != nil {
		return err
	}
	p.Chains = 1
	for range t.cfg.Keep {
		v := append([]float64(nil), mean...)
		e := make([]float64, d)
		for i := range e {
			e[i] = coins.normal()
			for j := range i + 1 {
				v[i] += root.At(i, j) * e[j]
			}
		}
		g.factor.solveT(v)
		p.Draws = append(p.Draws, v)
	}
	p.Mean = append([]float64(nil), mean...)
	g.factor.solveT(p.Mean)
	back := mat.NewDense(d, d, nil) // the columns of F'^-1
	for j := range d {
		e := make([]float64, d)
		e[j] = 1
		g.factor.solveT(e)
		back.SetCol(j, e)
	}
	var half, full mat.Dense
	half.Mul(back, cov)
	full.Mul(&half, back.T())
	p.Covariance = symmetric(&full)
	return nil
}

// sd are the marginal standard deviations.
func (p *Posterior) sd() []float64 {
	sd := make([]float64, len(p.Mean))
	for i := range sd {
		sd[i] = math.Sqrt(p.Covariance.At(i, i))
	}
	return sd
}
