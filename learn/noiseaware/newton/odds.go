package newton

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
	"choir/learn/noiseaware/internal/shrink"
)

// rises are what a mean's logits l gain with the weights' own logits a, by draws of the weights: the mean of
// (s(a) - 1/2) l over records, s being the logistic function. Over even odds predictions gain a rise less the
// mean of log cosh (l/2).
type rises []float64

// sureOdds is by how many of the draws' standard deviations a rise may be less than its mean.
const sureOdds = 2

// share is the largest share of the logits, up to 1, that loses at most lost of a record even if it gains
// less than expected. loss is the mean of log cosh (l/2) of a share.
func (r rises) share(lost float64, loss func(k float64) float64) float64 {
	mean, square := 0.0, 0.0
	for _, x := range r {
		mean += x / float64(len(r))
		square += x * x / float64(len(r))
	}
	sure := mean - sureOdds*math.Sqrt(max(0, square-mean*mean))
	return shrink.Largest(func(k float64) bool { return k*sure-loss(k) >= -lost })
}

// shorten shortens the slopes and the intercept, the last weight, of a mean of classes to the shares that are
// sure not to lose to even odds, by draws of the weights from their posterior. Columns are taken for
// independent and normal with the mean square 1: by Stein's lemma the logits l = m'x + c have the rise
// E s'(a) w'm + (E s(a) - 1/2) c. Over the posterior logits are shorter ([MacKay92]).
//
// Where ranges alone are public columns may be off their centres, and slopes and intercept make up for each
// other: both keep one share, which moves logits alike wherever columns lie.
func shorten(m *gauss.Moments, weights [][]float64, ranged bool) {
	last := len(m.Mean) - 1
	slopes := m.Mean[:last]
	short := 1 / math.Sqrt(1+floats.Sum(m.Variance)/logistic.Probit)
	sd, alone := short*floats.Norm(slopes, 2), short*m.Mean[last]
	var across, along rises
	for _, w := range weights {
		square := floats.Dot(w[:last], w[:last])
		across = append(across, short*logistic.MeanSlope(w[last], square)*floats.Dot(w[:last], slopes))
		along = append(along, alone*(logistic.Cumulative(w[last]/math.Sqrt(logistic.Probit+square))-0.5))
	}
	if ranged {
		floats.Add(across, along)
		both := func(k float64) float64 { return meanLogCosh(k*alone/2, k*sd/2) }
		floats.Scale(across.share(shrink.Slack, both), m.Mean)
		return
	}
	floats.Scale(across.share(shrink.Slack/2, func(k float64) float64 { return meanLogCosh(0, k*sd/2) }), slopes)
	intercept := func(k float64) float64 { return logistic.LogCosh(k * math.Abs(alone) / 2) }
	m.Mean[last] *= along.share(shrink.Slack/2, intercept)
}

// meanLogCosh is the mean of log cosh over a normal law.
func meanLogCosh(mean, sd float64) float64 {
	const step = 0.25 // of 16 standard deviations
	out := 0.0
	for i := -32; i <= 32; i++ {
		z := step * float64(i)
		out += logistic.LogCosh(math.Abs(mean+sd*z)) * math.Exp(-z*z/2)
	}
	return out * step / math.Sqrt(2*math.Pi)
}
