package result

import (
	"fmt"
	"math"
	"strings"

	"choir/learn/bayes"
	"choir/learn/noiseaware"
	"choir/protocol"
	"choir/session/app"
)

// A weight is where the prior hardly expects any if the nearer end of its interval at 90 % is this many of
// the prior's standard deviations from 0. The prior draws an intercept beyond 2 with probability .05, and one
// of 60 slopes beyond 3.5 with probability .03.
const (
	farIntercept = 2
	farSlope     = 3.5
)

// roomy is how many standard deviations from 0 such a weight is under the prior that the warning advises.
const roomy = 1.5

// unexpected warns of weights where the plan's prior hardly expects them. It draws them to 0, so that their
// intervals may miss. Empty is none. Networks and programs have no weights to speak of, and the prior of
// noisy statistics follows their columns.
func unexpected(p *protocol.Plan, q *bayes.Posterior) string {
	a, err := app.Of(p)
	if err != nil {
		return ""
	}
	precision, ok := priorPrecision(a)
	if m := q.Likelihood().Model; !ok || m != bayes.Logistic && m != bayes.Linear {
		return ""
	}
	schema, err := a.Encoding()
	if err != nil {
		return ""
	}
	names := coefficientNames(schema)
	mean, sd, root := q.Mean(), q.SD(), math.Sqrt(precision)
	var found []string
	farthest := 0.0
	for j, m := range mean {
		far := float64(farSlope)
		if j == len(mean)-1 {
			far = farIntercept
		}
		if away := math.Abs(m) * root; away-z90*sd[j]*root > far {
			found = append(found, fmt.Sprintf("%s (%.1f)", names[j], away))
			farthest = max(farthest, away)
		}
	}
	if len(found) == 0 {
		return together(q, precision)
	}
	return fmt.Sprintf("unexpected: the plan's prior expects weights near 0 and draws them there, and these "+
		"are far away, in its standard deviations: %s; their intervals may end short of the true values. If "+
		"such values are plausible, as an intercept of -3 is for a class that one in twenty has, name "+
		"prior_precision %.1g in the next plan", strings.Join(found, ", "),
		precision*(roomy/farthest)*(roomy/farthest))
}

// together warns of weights that are longer together than the plan's prior draws them. By Jensen's inequality
// the logarithm of the ratio of what was learnt under both priors is at least the posterior's mean of that of
// the priors' densities. The mean of the ratio is 1 under the plan's prior, so that it is above the inverse
// of noiseaware.LongerOdds in at most a share of LongerOdds of the sessions.
func together(q *bayes.Posterior, precision float64) string {
	square, sd := 0.0, q.Shrunk()
	for j, m := range q.Mean() {
		square += precision * (m*m + sd[j]*sd[j])
	}
	n, longer := float64(len(sd)), noiseaware.LongerPrior
	if (n*math.Log(longer)+(1-longer)*square)/2 < -math.Log(noiseaware.LongerOdds) {
		return ""
	}
	return fmt.Sprintf("unexpected: the weights are longer together than the plan's prior draws them: their "+
		"root mean square is %.1f of its standard deviations; it draws them to 0, so that their intervals may "+
		"end short of the true values; if such weights are plausible, name prior_precision %.1g in the next plan",
		math.Sqrt(square/n), precision*n/square)
}
