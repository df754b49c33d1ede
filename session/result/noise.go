package result

import (
	"math"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// learningNoise is the standard deviation of a run's noise on every weight's mean, and that of
// its last round; nil where it isn't known. The linear part h and the precision P, which has twice
// the noise of its natural parameter, -P/2, give the mean h/P the variance (s^2 + 4 s^2 mean^2) /
// P^2.
func learningNoise(p *protocol.Plan, a *app.PVI, q *bayes.Posterior) (all, step []float64) {
	c := a.PVI
	sum := math.Ldexp(math.Sqrt(app.SumVariance(p)), -int(p.FracBits))
	if p.Noise == protocol.NoiseLocal {
		sum = math.Ldexp(math.Sqrt(float64(p.Variance)*float64(p.Parties())), -int(p.FracBits))
	}
	rounds := a.LearningRounds(p) - a.CentreRounds
	switch name := c.Strategy.Name(); {
	case name == pvi.NameAnalytic: // the mean of all rounds
		sum /= math.Sqrt(float64(rounds))
		return scaled(sum, spreads(c, q)), nil
	case name.Local() && name != pvi.NamePerturbation:
		return optimisationNoise(p, c, q, sum)
	}
	total := 0.0
	last := 0.0
	newton := c.Strategy.Params().Optimiser == pvi.Newton
	for r := range c.Learning(rounds) {
		last = c.DampingOf(r + 1)
		if newton { // the mean moves towards a fixed point, at least half as fast as planned
			total *= (1 - last/2) * (1 - last/2)
			last *= c.StepScale(r + 1)
		}
		left := 1 - last*c.Beta/2 // tied factors lose earlier noise, at least half as fast as without clips
		last /= c.TermScale(r + 1)
		total = total*left*left + last*last
	}
	spread := spreads(c, q)
	return scaled(sum*math.Sqrt(total), spread), scaled(sum*last, spread)
}

// spreads is the standard deviation of every weight's mean for noise of standard deviation 1 on
// the natural parameters. In the full family the covariance S turns noise e on h and E on the
// precisions into S (e - E mean).
func spreads(c pvi.Config, q *bayes.Posterior) []float64 {
	out := make([]float64, len(q.Mean()))
	square := 0.0
	for _, m := range q.Mean() {
		square += m * m
	}
	sd := q.SD()
	for j, m := range q.Mean() {
		switch {
		case c.Family == gauss.Full:
			row := 0.0
			for i := range out {
				v := q.Covariance().At(i, j)
				row += v * v
			}
			out[j] = math.Sqrt(row * (1 + square))
		case c.Strategy.Params().Optimiser == pvi.Newton: // precisions have no noise
			out[j] = sd[j] * sd[j]
		case c.PrecisionUnit > 0: // noise on a precision is on h, too, times the mean
			out[j] = sd[j] * sd[j]
		default:
			out[j] = math.Sqrt(1+4*m*m) * sd[j] * sd[j]
		}
	}
	return out
}

func scaled(by float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = by * x
	}
	return out
}

// optimisationNoise approximates the noise of DP optimisation. By natural-gradient steps a step's
// sum is in units of the posterior's standard deviations and estimates a sample's; a party's
// factor is an average over about 2/rate of its last steps. Plain steps add their noise up.
func optimisationNoise(p *protocol.Plan, c pvi.Config, q *bayes.Posterior,
	sum float64) (all, step []float64) {
	s := c.Strategy.Params()
	if s.SampleRate > 0 {
		sum /= s.SampleRate
	}
	damping := func(round uint32) float64 { return c.Damping / (1 + c.DampingDecay*float64(round-1)) }
	rounds := uint32(c.Learning(int(p.Rounds)))
	last := damping(rounds)
	pace := s.LearningRate * last
	for _, sd := range q.SD() {
		switch s.Optimiser {
		case pvi.Natural:
			e := 2.6 * sum * sd
			all = append(all, e*math.Sqrt(pace/(2-pace)))
			step = append(step, e*last*math.Sqrt(s.LearningRate))
		case pvi.SGD:
			e := sum * s.LearningRate * math.Sqrt(float64(s.Steps))
			square := 0.0
			for r := range rounds {
				square += damping(r+1) * damping(r+1)
			}
			all = append(all, e*math.Sqrt(square))
			step = append(step, e*last)
		}
	}
	return all, step
}

// globalNoise approximates the noise of global inference. The sum's noise on a gradient,
// averaged over the rounds that count, meets a curvature of about a fifth of the
// records, or with a network the learnt precision; an adaptive step bounds how far noise can carry a
// weight.
func globalNoise(p *protocol.Plan, a *app.GlobalVI, q *bayes.Posterior) (all, step []float64) {
	g := a.Global
	sum := math.Ldexp(math.Sqrt(app.SumVariance(p)), -int(p.FracBits)) / g.SampleRate
	rounds := float64(a.LearningRounds(p) - a.CentreRounds)
	for _, sd := range q.SD() {
		curvature := 0.2 * float64(g.Records)
		if g.Model == bayes.BNN { // a unit's weights have fewer records
			curvature = 1 / (sd * sd)
		}
		e := 2 * sum / math.Sqrt(rounds) / curvature
		e = min(e, g.LearningRate*math.Sqrt(rounds))
		if g.Optimiser == "natural" {
			rate := g.LearningRate / (1 + g.RateDecay*(rounds-1))
			e = sum * sd * math.Sqrt(rate/2)
		}
		all = append(all, e)
	}
	return all, nil
}
