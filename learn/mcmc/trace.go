package mcmc

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// trace asks for the ratios of d orthogonal steps from one state, and in the next round
// for those of the opposite steps. Together the two give the gradient at the state to third
// order in the steps, for any curvature. The state moves to the best estimate of the
// mode after each pair.
//
// first is the sum of the gradients, in the coordinates phi, and second that of the states.
type trace struct{ *base }

// step is the length of a step in phi.
func (t trace) step() float64 {
	if t.cfg.Step > 0 {
		return t.cfg.Step
	}
	return 1
}

// done is the number of rounds of the stage so far.
func (t trace) done(s *state) int {
	_, n := t.cfg.stageOf(*s.folded)
	return n
}

// steps are the round's: those of the pair's first round, or their negatives.
func (t trace) steps(s *state) ([][]float64, float64, error) {
	pair := *s.folded - int64(t.done(s)%2)
	c, err := t.public.coinsOf(stepping, pair, sumsHash(s.sums))
	if err != nil {
		return nil, 0, err
	}
	length := t.step()
	if t.done(s)%2 == 1 {
		length = -length
	}
	return c.frame(t.cfg.Features, t.cfg.Features), length, nil
}

func (t trace) query(g *geometry, s *state) (Query, error) {
	steps, length, err := t.steps(s)
	if err != nil {
		return Query{}, err
	}
	theta := reals(s.theta[0])
	q := Query{kind: ratios, from: [][]float64{theta}, bound: float64(g.bound * t.step()), even: g.bound}
	for _, e := range steps {
		q.to = append(q.to, g.moved(theta, e, length))
	}
	return q, nil
}

func (t trace) fold(g *geometry, s *state, sum []int64, _ *coins) error {
	steps, length, err := t.steps(s)
	if err != nil {
		return err
	}
	n := float64(t.done(s) + 1)
	st, done := t.cfg.stageOf(*s.folded)
	if st == warming && done%2 == 0 { // only the pair counts
		clear(s.first)
		clear(s.second)
	}
	v, at := reals(s.first), reals(s.second)
	unit := float64(g.unit()*t.step()) / length
	for k, e := range steps {
		add(v, float64(unit*float64(sum[k])), e)
	}
	add(at, 1, reals(s.theta[0]))
	if err := errors.Join(put(s.first, v), put(s.second, at)); err != nil {
		return err
	}
	if done%2 == 0 {
		return nil
	}
	if st == warming {
		return t.onward(g, s, 2, min(1, 4/(n+2)), t.far())
	}
	return t.onward(g, s, n, 1, reach)
}

// reach is the distance in phi from where the warm rounds end to the mode, about: the step
// to the mode is that of a prior of this standard deviation.
const reach = 2.5

// onward moves the state to the mean of n rounds' states plus a step to the mode by the mean gradient there,
// times a rate. A prior with a standard deviation of reach around the mean holds it back where the gradient
// can't be told from its noise.
func (t trace) onward(g *geometry, s *state, n, rate, reach float64) error {
	mean, step := reals(s.second), reals(s.first)
	scale(mean, 1/n)
	scale(step, 1/n)
	back := append([]float64(nil), mean...)
	g.factor.solve(back)
	add(step, -t.cfg.PriorPrecision, back)
	hold := float64(t.noise(g)*t.noise(g)) / n / float64(0.4*float64(reach*reach))
	step = t.arced(g, s).step(g.factor.mulT(mean), step, hold)
	return put(s.theta[0], g.moved(mean, step, float64(rate*g.damped(step))))
}

// damped is the share of a step to the mode to take. A step that moves the records' logits by s, as a
// root mean square, may find a curvature that is larger by a factor of e^s: the share is log(1 + s)/s, that
// of [STD19] for generalized self-concordant functions.
func (g *geometry) damped(step []float64) float64 {
	s := float64(g.logits() * math.Sqrt(dot(step, step)))
	if s < 1e-6 {
		return 1
	}
	return logOf(1+s) / s
}

// logits is the root mean square of the records' logits by unit of distance from 0 in phi, in all directions
// alike.
func (g *geometry) logits() float64 { return g.norm / math.Sqrt(float64(g.factor.d)) }

// curvature is the mean of the noisy curvatures in phi, by rows, and the standard deviation
// of the noise on a diagonal entry.
func (t trace) curvature(g *geometry, s *state) (h []float64, noise float64) {
	rounds := float64(t.cfg.CurvatureRounds)
	r := float64(intRadius())
	bound := g.curvatureBound()
	unit := float64(bound*bound) / float64(r*r) / rounds
	return unpack(s.curve, t.cfg.Features, unit),
		float64(unit*math.Sqrt(float64(rounds*t.public.Variance))) / onDiagonal
}

// evidence collects what the rounds show, in the coordinates phi.
func (t trace) evidence(g *geometry, s *state) evidence {
	d := t.cfg.Features
	n := float64(t.done(s))
	e := evidence{At: reals(s.second), Gradient: reals(s.first), Curvature: mat.NewSymDense(d, nil),
		Noise: t.noise(g) * t.noise(g) / n, Prior: t.prior(g, t.cfg.PriorPrecision)}
	scale(e.At, 1/n)
	scale(e.Gradient, 1/n)
	e.At = g.factor.mulT(e.At)
	h, noise := t.curvature(g, s)
	e.CurvatureNoise = noise
	e.Logits, e.Even = g.logits(), t.cfg.Clip
	for i := range d {
		for j := i; j < d; j++ {
			e.Curvature.SetSym(i, j, h[i*d+j])
		}
	}
	return e
}
