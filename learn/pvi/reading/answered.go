package reading

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/bayes"
)

// farStart is how many times the precision that a linear model's records are expected to have the state must
// have for answered to tell anything: then errors of that expectation hardly count.
const farStart = 2

// answered is the share of what a linear model's factors lack that its clipped updates add to the sums.
//
// The best factors are the same at every public posterior, so that without clips sum and state give the same
// in all rounds. Where clips cut most updates, of which each keeps its direction, the sums are a share c of
// what is lacking, c (sum_k l_k - t_k), and the state stays near its start for long. Then sum and state would
// give the start's precision for that of the records. Of records with columns of mean square 1 the
// precision is expected to be one over the variance of an observation each. Where the start's is far
// above it the mean of all rounds and weights has c. It is 1 where sums are not surely shorter.
func (r *reading) answered() float64 {
	d := r.c.Weights()
	if r.c.Model != bayes.Linear || r.c.Clip == 0 || r.all == 0 || len(r.owns) != len(r.points) {
		return 1
	}
	n := float64(len(r.points) * d)
	own, state, variance := 0.0, 0.0, 0.0 // of precisions
	for s, natural := range r.naturals {
		sum := -2 * floats.Sum(r.owns[s][d:2*d]) / n
		own += sum
		state += -2*floats.Sum(natural[d:2*d])/n - sum
		variance += 4 * r.variances[s] / (r.whole(s) * r.whole(s)) * float64(d) / (n * n)
	}
	expected := r.all / (r.c.NoiseSD * r.c.NoiseSD)
	if state < farStart*expected {
		return 1
	}
	share, sd := own/(expected-state), math.Sqrt(variance)/(state-expected)
	if share < 2*sd || share > 1-2*sd {
		return 1
	}
	return share
}

// louder is the variance that the weighted scores have beyond covariance if their rounds' own noise is over
// the share.
func (r *reading) louder(weights []float64, share float64) float64 {
	v := 0.0
	for s, w := range weights {
		own := w / r.whole(s)
		v += own * own * r.variances[s] * (1/(share*share) - 1)
	}
	return v
}
