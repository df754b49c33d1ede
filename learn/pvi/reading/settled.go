package reading

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// eachWeight is the posterior of each weight by itself. Of the slopes of classes by shards it keeps
// what noise leaves. Clips cut the records' factors, so that these tell less of the weights, and err
// less.
func (r *reading) eachWeight() (m, single *gauss.Moments) {
	at := r.settled()
	if r.c.Model == bayes.Linear && r.c.Strategy.Name().Sharded() && !r.c.Strategy.Params().Local {
		r.alone = &at
	}
	if r.c.Model != bayes.Logistic || !r.c.Strategy.Name().Sharded() {
		return at.Posterior()
	}
	at.Answered = r.left(at)
	at.Records = r.all
	return at.KeptSlopes()
}

// sure returns the posterior of a linear model without a known curvature with predictions that are sure not
// to lose; others as they are.
func (r *reading) sure(q *bayes.Posterior) (*bayes.Posterior, error) {
	if r.alone == nil {
		return q, nil
	}
	assumed := r.c.NoiseSD * r.c.NoiseSD
	records := r.all
	if records == 0 {
		records = max(1, r.alone.Precision[len(r.alone.Precision)-1]*assumed)
	}
	noise := q.Likelihood().NoiseSD
	m := noiseaware.Numbers{Diagonal: *r.alone, Weights: q.Moments(), Single: q.Single(), Assumed: assumed,
		Observed: noise * noise, Records: records, Seen: r.seen}.Sure()
	out, err := q.Likelihood().With(m, q.Single(), q.Rare())
	if err != nil {
		return nil, err
	}
	return out.WithNoise(noise, q.Measured()), nil
}

// left is the share of the records' factors that clips leave, by the intercept's precision: its column is 1,
// and where parties begin each record has a quarter of it.
func (r *reading) left(at noiseaware.Diagonal) float64 {
	if r.all == 0 {
		return 1
	}
	last := len(at.Precision) - 1
	return noiseaware.Share(4*at.Precision[last]/r.all, 4*math.Sqrt(at.PrecisionNoise[last])/r.all)
}

// predictedFloor is the least precision of the public posterior of classes, for predictions. Weights of a
// linear model have public scales for that.
func predictedFloor(c pvi.Config) float64 {
	if c.Model == bayes.Linear {
		return 0
	}
	return c.PrecisionFloor
}

// settling are the weights of the rounds in the state, without its start, if updates are short by a share.
func (r *reading) settling(share float64) []float64 {
	weights := make([]float64, len(r.dampings))
	left := 1.0
	for s := len(weights) - 1; s >= 0; s-- {
		weights[s] = share * r.dampings[s] * left
		left *= 1 - share*r.dampings[s]
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return weights
}

// settled is where the state would go without noise, the response of the damped recursion
// being linear: of the way from the start the state has gone all but the share left.
func (r *reading) settled() noiseaware.Diagonal {
	share := r.answered()
	weights := r.settling(share)
	d := r.c.Weights()
	out := noiseaware.Diagonal{Prior: r.c.PriorPrecision, Scales: r.scales, Floor: predictedFloor(r.c),
		Scores: make([]float64, d), Precision: make([]float64, d), Point: make([]float64, d),
		Origin: make([]float64, d)}
	for s, w := range weights {
		more := w * (1/share - 1)
		floats.AddScaled(out.Scores, w, r.naturals[s][:d])
		floats.AddScaled(out.Scores, more, r.owns[s][:d])
		floats.AddScaled(out.Precision, -2*w, r.naturals[s][d:2*d])
		floats.AddScaled(out.Precision, -2*more, r.owns[s][d:2*d])
		floats.AddScaled(out.Point, w, r.points[s])
	}
	w := mat.NewVecDense(len(weights), weights)
	v, errors := mat.Inner(w, r.covariance(), w)+r.louder(weights, share), r.lacking(weights)
	for i := range d {
		score, precision := v, 4*v
		if u := r.c.PrecisionUnit; u > 0 { // the way back to linear parts brings a precision's noise
			precision /= u * u
			score += out.Point[i] * out.Point[i] * precision
		}
		out.ScoreNoise = append(out.ScoreNoise, score+errors*max(0, out.Precision[i]))
		out.PrecisionNoise = append(out.PrecisionNoise, precision)
	}
	return out
}
