package mcmc

import "math"

// walk is a random walk of K chains whose steps are orthogonal and have one length, under
// the penalty test or Barker's. For logistic regression |log p(y|x,w+s) - log p(y|x,w)| <=
// |x.s| for every w, so that a record's K ratios have together at most the norm of z times
// the length (docs/mcmc.md): K chains cost what one costs. Each chain's steps are
// symmetric and independent of its past, so each is a Markov chain of its own; the chains'
// steps are coupled.
type walk struct{ *base }

// step is the length in the coordinates phi. A jump of length l from a normal target of
// standard deviation 1.5 is accepted with probability 2 Phi(-l sqrt(1/1.5^2 + noise^2)/2),
// and l^2 times that is largest where the product is 2.38. Barker's noise must not exceed 2.
func (w walk) step(g *geometry) float64 {
	if w.cfg.Step > 0 {
		return w.cfg.Step
	}
	noise := w.noise(g)
	square := float64(noise * noise)
	if w.cfg.Method == Penalty {
		return 2.38 / math.Sqrt(0.45+square)
	}
	return min(2.38/math.Sqrt(0.45), 0.999*math.Sqrt((barkerVariance-w.cfg.SamplingVariance)/(square+0x1p-40)))
}

// variance is that of the noise on a log ratio: the parties' and the declared one of the
// sample.
func (w walk) variance(g *geometry, step float64) float64 {
	sd := float64(w.noise(g) * step)
	return float64(sd*sd) + w.cfg.SamplingVariance
}

// steps are the round's, by chain, in the coordinates phi.
func (w walk) steps(s *state) ([][]float64, error) {
	c, err := w.public.coinsOf(stepping, *s.folded, sumsHash(s.sums))
	if err != nil {
		return nil, err
	}
	return c.frame(w.cfg.Chains, w.cfg.Features), nil
}

func (w walk) query(g *geometry, s *state) (Query, error) {
	steps, err := w.steps(s)
	if err != nil {
		return Query{}, err
	}
	length := w.step(g)
	q := Query{kind: ratios, bound: float64(g.bound * length)}
	for k, chain := range s.theta {
		theta := reals(chain)
		q.from, q.to = append(q.from, theta), append(q.to, g.moved(theta, steps[k], length))
	}
	return q, nil
}

func (w walk) fold(g *geometry, s *state, sum []int64, after *coins) error {
	steps, err := w.steps(s)
	if err != nil {
		return err
	}
	length := w.step(g)
	variance := w.variance(g, length)
	unit := float64(float64(w.cfg.Temper*g.unit())*length) / w.cfg.SampleRate
	for k, chain := range s.theta {
		theta := reals(chain)
		to := g.moved(theta, steps[k], length)
		noisy := float64(unit*float64(sum[k])) + (w.cfg.logPrior(to) - w.cfg.logPrior(theta))
		*s.tested++
		accepted, err := w.accept(after, noisy, variance)
		if err != nil {
			return err
		}
		if !accepted {
			continue
		}
		*s.accepted++
		if err := put(chain, to); err != nil {
			return err
		}
	}
	return nil
}

// accept tests a noisy log ratio. What the parties' noise lacks of Barker's 2 is added in
// public.
func (w walk) accept(coins *coins, noisy, variance float64) (bool, error) {
	if w.cfg.Method == Penalty {
		return AcceptPenalty(noisy, variance, coins.uniform()), nil
	}
	rest := math.Sqrt(max(0, barkerVariance-variance))
	correction, err := Correction(barkerVariance)
	if err != nil {
		return false, err
	}
	noisy += float64(rest * coins.normal())
	return AcceptBarker(noisy, correction.Draw(coins.uniform())), nil
}
