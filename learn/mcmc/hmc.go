package mcmc

import "math"

// hmc is DP-HMC: Leapfrogs steps with noisy clipped gradients, one noise for each position,
// and the penalty test on the change of the energy. An iteration takes Leapfrogs + 2 rounds:
// a gradient at every position, the first and the last included, and the ratio of the last
// position to the first. Clipped gradients cost no exactness, clipped ratios do
// (docs/mcmc.md).
//
// first is the position and second the momentum, in the coordinates phi, of the iteration
// that is under way; theta is its current position.
type hmc struct{ *base }

// step is the leapfrog's.
func (h hmc) step() float64 {
	if h.cfg.Step > 0 {
		return h.cfg.Step
	}
	return 0.5
}

// phase is the number of rounds of the iteration that are done.
func (h hmc) phase(s *state) int { return (int(*s.folded) - h.cfg.prepared()) % h.cfg.period() }

func (h hmc) query(g *geometry, s *state) (Query, error) {
	theta := reals(s.theta[0])
	if h.phase(s) <= h.cfg.Leapfrogs {
		return Query{kind: gradient, factor: g.factor, from: [][]float64{theta}, bound: g.bound}, nil
	}
	length := h.path(g, s)
	return Query{kind: ratios, from: [][]float64{reals(s.first)}, to: [][]float64{theta},
		bound: float64(g.bound * length)}, nil
}

// path is the length of the way from the first position to the last in phi, at least a
// little above 0.
func (h hmc) path(g *geometry, s *state) float64 {
	step := reals(s.theta[0])
	add(step, -1, reals(s.first))
	step = g.factor.mulT(step)
	return max(0x1p-20, math.Sqrt(dot(step, step)))
}

func (h hmc) fold(g *geometry, s *state, sum []int64, after *coins) error {
	phase := h.phase(s)
	if phase > h.cfg.Leapfrogs {
		return h.test(g, s, sum, after)
	}
	theta, momentum := reals(s.theta[0]), reals(s.second)
	if phase == 0 {
		for i := range momentum {
			momentum[i] = after.normal()
		}
		copy(s.first, s.theta[0])
		if err := put(s.kinetic, []float64{dot(momentum, momentum) / 2}); err != nil {
			return err
		}
	}
	kick := h.step()
	if phase == 0 || phase == h.cfg.Leapfrogs {
		kick /= 2
	}
	add(momentum, kick, h.gradient(g, theta, sum))
	if phase < h.cfg.Leapfrogs {
		if err := put(s.theta[0], g.moved(theta, momentum, h.step())); err != nil {
			return err
		}
	}
	return put(s.second, momentum)
}

// test ends an iteration.
func (h hmc) test(g *geometry, s *state, sum []int64, after *coins) error {
	length := h.path(g, s)
	sd := float64(h.noise(g) * length)
	momentum := reals(s.second)
	noisy := float64(float64(float64(h.cfg.Temper*g.unit())*length)*float64(sum[0])) +
		(h.cfg.logPrior(reals(s.theta[0])) - h.cfg.logPrior(reals(s.first))) +
		(reals(s.kinetic)[0] - dot(momentum, momentum)/2)
	*s.tested++
	if AcceptPenalty(noisy, float64(sd*sd), after.uniform()) {
		*s.accepted++
		return nil
	}
	copy(s.theta[0], s.first)
	return nil
}
