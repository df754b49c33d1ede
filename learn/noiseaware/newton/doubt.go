package newton

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/internal/ellipse"
	"choir/learn/noiseaware/internal/logistic"
	"choir/learn/noiseaware/internal/shrink"
)

// Doubt is what isn't known of a column of which nothing but a range is public, in the units that weights are
// of: the standard deviation of its mean, around 0, and the mean and the standard deviation of the logarithm
// of its standard deviation. The zero value is a column with the mean 0 and the mean square 1.
type Doubt struct{ Mean, Log, LogSD float64 }

const (
	every   = 9    // draws of weights for one of columns
	even    = 1    // standard deviation that the mean logit of all records is expected to have
	unlucky = 0.05 // share of the draws that may lose: their gains are far from normal
)

// shortenPlaced shortens a mean of classes to the share that is sure not to lose to even odds, by draws of
// the weights, of the columns' lengths, and of where columns lie given these. Slopes and intercept keep one
// share, as in shorten.
func shortenPlaced(m *gauss.Moments, weights [][]float64, doubts []Doubt) {
	var r ellipse.Generator
	var drawn []odds
	for n := 0; n < len(weights); n += every {
		drawn = append(drawn, oddsOf(m, weights[n], doubts, &r))
	}
	gains := make([]float64, len(drawn))
	floats.Scale(shrink.Largest(func(k float64) bool {
		for i, o := range drawn {
			gains[i] = k*o.rise - meanLogCosh(k*o.mean/2, k*o.sd/2)
		}
		slices.Sort(gains)
		return gains[int(unlucky*float64(len(gains)))] >= -shrink.Slack
	}), m.Mean)
}

// odds are what the normal logits l of a mean gain over even odds, if weights and columns are as in a draw:
// for each record a rise, less log cosh (l/2).
type odds struct{ rise, mean, sd float64 }

// oddsOf are those of a draw. How far columns belong together isn't known: a normal factor that all have,
// with a sign of their own, has any share of their variances.
func oddsOf(m *gauss.Moments, w []float64, doubts []Doubt, r *ellipse.Generator) (o odds) {
	last := len(w) - 1
	means := meansGiven(w, doubts, r.Normal)
	own, ownSquare, both := w[last], 0.0, 0.0 // of the logits by w, and by both
	spread := m.Variance[last]
	o.mean = m.Mean[last]
	var square, along, ownAlong float64
	for j, mean := range means {
		length := math.Exp(doubts[j].Log + doubts[j].LogSD*r.Normal())
		own += mean * w[j]
		o.mean += mean * m.Mean[j]
		ownSquare += length * length * w[j] * w[j]
		both += length * length * w[j] * m.Mean[j]
		square += length * length * m.Mean[j] * m.Mean[j]
		spread += (mean*mean + length*length) * m.Variance[j]
		if r.Uniform() < 0.5 {
			length = -length
		}
		ownAlong += length * w[j]
		along += length * m.Mean[j]
	}
	part := r.Uniform()
	ownSquare += part * (ownAlong*ownAlong - ownSquare)
	both += part * (ownAlong*along - both)
	square += part * (along*along - square)
	short := 1 / math.Sqrt(1+spread/logistic.Probit)
	beyond := logistic.Cumulative(own/math.Sqrt(logistic.Probit+ownSquare)) - 0.5
	o.rise = short * (logistic.MeanSlope(own, ownSquare)*both + beyond*o.mean)
	o.mean, o.sd = short*o.mean, short*math.Sqrt(square)
	return o
}

// meansGiven draws the columns' means given the weights, of which the intercept makes up for them but for the
// mean logit, by Matheron's rule.
func meansGiven(w []float64, doubts []Doubt, normal func() float64) []float64 {
	last := len(w) - 1
	out := make([]float64, last)
	left, variance := even*normal()-w[last], float64(even*even)
	for j, d := range doubts[:last] {
		out[j] = d.Mean * normal()
		left -= w[j] * out[j]
		variance += w[j] * w[j] * d.Mean * d.Mean
	}
	for j, d := range doubts[:last] {
		out[j] += d.Mean * d.Mean * w[j] * left / variance
	}
	return out
}
