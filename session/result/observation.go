package result

import (
	"fmt"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/session/app"
)

// What a linear model's noise_sd is from.
const (
	fromPlan       = "plan"
	FromResiduals  = "residuals"
	fromStatistics = "statistics"
)

// predictiveOf is that of a posterior of an application.
func predictiveOf(a app.Spec, q *bayes.Posterior) *Predictive {
	p := &Predictive{Likelihood: q.Likelihood(), Measured: q.Measured(), Natural: q.Natural()}
	s, statistics := a.(*app.Statistics)
	switch {
	case p.Model != bayes.Linear:
	case p.Measured != nil:
		p.NoiseSDFrom = FromResiduals
	case statistics && s.Statistics.NoiseSD == 0:
		p.NoiseSDFrom = fromStatistics
	default:
		p.NoiseSDFrom = fromPlan
	}
	return p
}

// note is what a linear model's noise of an observation is, in the target's unit.
func (p *Predictive) note(target dataset.Column) string {
	if p.Model != bayes.Linear || target.Numeric == nil || p.NoiseSDFrom == "" {
		return ""
	}
	unit := target.Numeric.Scale
	s := fmt.Sprintf("standard deviation %.4g, ", unit*p.NoiseSD)
	switch p.NoiseSDFrom {
	case FromResiduals:
		return s + fmt.Sprintf("by residual rounds (95 %% interval %.4g to %.4g); the plan assumed %.4g",
			unit*p.Measured.Lower, unit*p.Measured.Upper, unit*p.Measured.Assumed)
	case fromStatistics:
		return s + "estimated from the statistics; the intervals take residuals for nearly normal, which nothing " +
			"here can tell: of a target with a long tail, such as costs, learn the logarithm"
	}
	return s + "by the plan, not measured"
}

// sameNoise compares likelihoods, and where the noise of an observation is from: what was measured may
// differ by the rounding of another machine.
func (p *Predictive) sameNoise(want *Predictive) bool {
	numbers := func(p *Predictive) []float64 {
		out := []float64{p.NoiseSD}
		if m := p.Measured; m != nil {
			out = append(out, m.Assumed, m.Lower, m.Upper)
		}
		return out
	}
	like := p.Likelihood
	like.NoiseSD = want.NoiseSD
	return like == want.Likelihood && p.NoiseSDFrom == want.NoiseSDFrom &&
		within(numbers(p), numbers(want), 1e-9)
}
