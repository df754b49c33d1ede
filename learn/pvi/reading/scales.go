package reading

import (
	"choir/learn/bayes"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// scalesOf are what the last round's observation expects of weights, of linear regression alone: for classes
// a scale below the prior's lost where few weights are large.
func scalesOf(c pvi.Config, trace []Observation) noiseaware.Scales {
	if c.Model != bayes.Linear || len(trace) == 0 {
		return nil
	}
	o := trace[len(trace)-1]
	if o.Scale == 0 || o.Intercept == 0 {
		return nil
	}
	out := make(noiseaware.Scales, c.Weights())
	for i := range out {
		out[i] = o.Scale
	}
	out[len(out)-1] = o.Intercept
	return out
}
