package mcmc

import "math"

// langevin takes steps phi + (h/2) gradient + noise of total variance h: the noise of the
// gradient, (h/2)^2 times its variance, is part of it, and the rest is public. Without the
// half the chain's variances would be half of the posterior's.
type langevin struct{ *base }

// step is h: so large that the gradient's noise is all, but at most maxStep, where the bias
// of the discretisation is some percent.
func (l langevin) step(g *geometry) float64 {
	const maxStep = 0.5
	noise := l.noise(g)
	largest := 4 / (float64(noise*noise) + 0x1p-40)
	if l.cfg.Step > 0 {
		return min(l.cfg.Step, largest)
	}
	return min(maxStep, largest)
}

func (l langevin) query(g *geometry, s *state) (Query, error) {
	return Query{kind: gradient, factor: g.factor, from: [][]float64{reals(s.theta[0])}, bound: g.bound}, nil
}

func (l langevin) fold(g *geometry, s *state, sum []int64, after *coins) error {
	h := l.step(g)
	theta := reals(s.theta[0])
	step := l.gradient(g, theta, sum)
	scale(step, h/2)
	own := float64(h / 2 * l.noise(g))
	rest := math.Sqrt(max(0, h-float64(own*own)))
	for i := range step {
		step[i] += float64(rest * after.normal())
	}
	*s.tested++
	*s.accepted++
	return put(s.theta[0], g.moved(theta, step, 1))
}
