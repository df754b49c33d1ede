package noiseaware

import (
	"math"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/shrink"
)

// Numbers are the weights of a linear model by themselves, and what is known of the error of predictions by
// their means. All squares are averages over the records.
type Numbers struct {
	Diagonal
	Weights  *gauss.Moments // means, and variances as if columns were not correlated
	Single   *gauss.Moments // variances of single weights, which count correlations
	Assumed  float64        // variance of an observation by the plan
	Observed float64        // that of predictions, measured or not
	Records  float64        // at least 1
	Seen     *Residuals     // of the means; nil: there were no residual rounds
	// Margin is by how many standard deviations a gain may be less than expected; 0: 1.5.
	Margin float64
}

const (
	leastDoubt = 0.4 // of the mean square of residuals before they are measured, in its mean
	shares     = 20  // of the mean, that are tried
	variances  = 40  // of predictions, that are tried for each
)

// Sure returns moments whose predictions are sure not to lose: of the shares of the mean and of the variances
// up to the prior's the pair whose log-likelihood is expected to gain most over the prior's predictive, of
// those that lose at most slack a record even if they gain Margin standard deviations less. The prior's
// predictive itself gains 0. Derivation: noise-aware.md.
func (n Numbers) Sure() *gauss.Moments {
	prior := n.Scales.Precisions(n.Prior, len(n.Weights.Mean))
	columns := n.columns()
	g := n.outlook(columns, prior)
	own, whole := n.Observed, n.Observed
	for i, c := range columns {
		own += c * n.Weights.Variance[i]
		whole += c / prior[i]
	}
	if g.margin = n.Margin; g.margin == 0 {
		g.margin = margin
	}
	share, variance := g.best(own, max(own, whole))
	toPrior := 1.0
	if whole > own {
		toPrior = (variance - own) / (whole - own)
	}
	out := &gauss.Moments{Mean: make([]float64, len(prior)), Variance: make([]float64, len(prior))}
	for i, v := range n.Weights.Variance {
		out.Mean[i] = share * n.Weights.Mean[i]
		out.Variance[i] = v + toPrior*(1/prior[i]-v)
	}
	return out
}

// columns are the mean squares of the columns, by the precisions; the last is 1.
func (n Numbers) columns() []float64 {
	precision, _ := n.Pooled()
	out := make([]float64, len(precision))
	for i, p := range precision {
		out[i] = p * n.Assumed / n.Records
	}
	out[len(out)-1] = 1
	return out
}

// outlook is what a linear model's predictions are known to gain over the prior's predictive.
type outlook struct {
	prior  float64 // variance of the prior's predictive
	square float64 // mean square of predictions by the whole mean
	error  spread  // mean square of its residuals
	along  float64 // variance of the mean product of predictions and their errors
	margin float64 // standard deviations by which a gain may be less than expected
}

// spread is the mean and the standard deviation of a law.
type spread struct{ mean, sd float64 }

// outlook is that of the means. Errors of single weights are taken for independent: their variances count the
// correlations.
func (n Numbers) outlook(columns, prior []float64) outlook {
	g := outlook{prior: n.Assumed}
	errors, chance := 0.0, 0.0
	for i, c := range columns {
		m, v := n.Weights.Mean[i], c*min(max(n.Weights.Variance[i], n.Single.Variance[i]), 1/prior[i])
		g.prior += c / prior[i]
		g.square += c * m * m
		g.along += c * m * m * v
		errors += v
		chance += 2 * v * v
	}
	g.error = spread{n.Assumed + errors, math.Sqrt(chance)}
	g.error.sd = max(g.error.sd, leastDoubt*g.error.mean)
	if n.Seen != nil && n.Seen.Records > 0 {
		g.error = n.Seen.given(g.error)
	}
	if errors > 0 {
		g.along *= max(0, min(1, (g.error.mean-n.Assumed)/errors))
	}
	return g
}

// gains is the log-likelihood that predictions with the share of the mean and the variance gain over the
// prior's predictive.
func (g outlook) gains(share, variance float64) spread {
	left := 1 - share
	square := g.square + g.error.mean
	own := left*left*g.square + g.error.mean
	mean := math.Log(g.prior/variance)/2 - own/(2*variance) + square/(2*g.prior)
	return spread{mean, math.Hypot(g.error.sd/2*(1/g.prior-1/variance),
		math.Sqrt(g.along)*(1/g.prior-left/variance))}
}

// best is the share and the variance, between two, of the best predictions that are sure not to lose: 0 and
// the largest variance if there are none.
func (g outlook) best(low, high float64) (share, variance float64) {
	variance = high
	best := math.Inf(-1)
	for i := range shares + 1 {
		for j := range variances + 1 {
			s, v := float64(i)/shares, low*math.Pow(high/low, float64(j)/variances)
			e := g.gains(s, v)
			if e.mean > best && e.mean-g.margin*e.sd >= -shrink.Slack {
				best, share, variance = e.mean, s, v
			}
		}
	}
	return share, variance
}

// squares is how many mean squares of residuals are tried.
const squares = 400

// given is the law of the residuals' mean square given their share, with the gamma law of these moments
// before: no normal law, since at large squares the share hardly depends on them.
func (r Residuals) given(before spread) spread {
	shape, rate := before.mean*before.mean/(before.sd*before.sd), before.mean/(before.sd*before.sd)
	logs, top := make([]float64, squares), before.mean+8*before.sd
	at := func(i int) float64 { return top * (float64(i) + 0.5) / squares }
	best := math.Inf(-1)
	for i := range logs {
		x := at(i)
		v := r.SD*r.SD + scatter(x/r.Limit)/r.Records
		away := r.Share - clipped(x/r.Limit)
		logs[i] = (shape-1)*math.Log(x) - rate*x - away*away/(2*v) - math.Log(v)/2
		best = max(best, logs[i])
	}
	all, mean, square := 0.0, 0.0, 0.0
	for i, l := range logs {
		w := math.Exp(l - best)
		all += w
		mean += w * at(i)
		square += w * at(i) * at(i)
	}
	mean /= all
	return spread{mean, math.Sqrt(max(0, square/all-mean*mean))}
}
