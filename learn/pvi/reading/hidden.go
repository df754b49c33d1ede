package reading

import (
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// hidden reports whether the clips of a party's whole updates hide the likelihood: what the sums
// show, without its noise, is more than half of what the parties' factors can have moved. The
// factors are then where the clips left them, and hold little of the data.
func (r *reading) hidden() bool {
	c := r.c
	name, whole := c.Strategy.Name(), c.Strategy.Params().Shards == 1
	updates := name != pvi.NameAnalytic && (whole || name == pvi.NameAveraging) && c.Clip > 0
	if c.Family != gauss.MeanField || !updates || r.parties == 0 {
		return false
	}
	at := r.settled()
	reach := float64(r.parties) * c.Clip * r.reach
	shown := 0.0
	for i, h := range at.Scores {
		shown += h*h - at.ScoreNoise[i]
		shown += (at.Precision[i]*at.Precision[i] - at.PrecisionNoise[i]) / 4
	}
	return shown > reach*reach/4
}

// nothing is the prior, in predictions and of single weights.
func (r *reading) nothing() (m, single *gauss.Moments) {
	d := r.c.Weights()
	m = &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	single = &gauss.Moments{Mean: m.Mean}
	for i, p := range r.scales.Precisions(r.c.PriorPrecision, d) {
		m.Variance[i] = 1 / p
		m.Mean[i] = r.prior[i] / r.c.PriorPrecision
		single.Variance = append(single.Variance, 1/r.c.PriorPrecision)
	}
	return m, single
}
