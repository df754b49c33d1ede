package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
	"choir/learn/noiseaware/internal/shrink"
)

// gain is what is known of the log-likelihood that part of a mean gains over even odds for both classes.
// Logits l of records of the classes y gain the sum of (y - 1/2) l - log cosh (l/2). log cosh of the root of
// a number is concave in it, so that of n records the second part is at most n log cosh s, with s^2 the mean
// of l^2/4. All sums are over the records.
type gain struct {
	linear, sd float64 // the sum of (y - 1/2) l without the noise's own part, and its error's standard deviation
	own        float64 // the noise's own part
	rest       float64 // the sum of (y - p) l with the noise's own part, for probabilities p by the whole mean
	square     float64 // the sum of l^2/4
	records    float64
	alike      bool // the logits are those of an intercept, and otherwise about normal
}

const margin = 1.5 // standard deviations by which a gain may be less than its estimate

// share returns the largest share of the mean, up to 1, that loses little of the log-likelihood even if its
// gain is less than it seems: noise-aware.md.
//
// Where nothing of the mean is kept the gain rises by its linear part. Further on it rises by at most the
// derivative of n log cosh ks less at the share k, and by no less than where all of the mean is kept:
// log-likelihoods are concave.
func (g gain) share() float64 {
	if !(g.square > 0) || g.records <= 0 {
		return 1
	}
	s := math.Sqrt(g.square / g.records)
	limit := g.records * s // of the sum of |l|/2
	if !g.alike {
		limit *= math.Sqrt(2 / math.Pi)
	}
	part, sd := share((g.linear/limit+1)/2, g.sd/limit/2)
	low := limit * (2*part - 1 - margin*2*sd)
	rises := min(0, g.rest) - g.own - margin*g.sd // the prior's hold is no evidence
	turn := 1.
	if steep := max(0, (low-rises)/(g.records*s)); steep < 1 {
		turn = min(1, math.Atanh(steep)/s)
	}
	gained := func(k float64) float64 {
		bent := min(k, turn)
		return bent*low - g.records*logistic.LogCosh(bent*s) + (k-bent)*rises
	}
	return shrink.Largest(func(k float64) bool { return gained(k) >= -shrink.Slack*g.records })
}

// steeper is the factor on the derivative of a mean of n weights by the scores where a power of the share
// kept by James and Stein's estimate is kept of it, since the share grows with the scores ([Stein81]).
func steeper(kept, power float64, n int) float64 {
	if kept == 0 {
		return 1
	}
	return 1 + 2*power*(1-kept)/(kept*float64(n))
}

// Steeper is the factor on the derivative of a mean of n weights by the scores where this share of it is kept
// by James and Stein's estimate, over the share.
func Steeper(kept float64, n int) float64 { return steeper(kept, 1, n) }

// Response is how a posterior's mean follows from noisy scores, of d weights. Matrices are d x d.
type Response struct {
	Start, Rest []float64 // the scores where all weights are 0 and at the mean, with noise
	// Noise is the covariance of Start's noise and sampling, and Joint that of the mean with it: the mean's
	// derivative by the scores times Noise, by Stein's lemma ([Stein81]).
	Noise    mat.Symmetric
	Joint    mat.Matrix
	Products mat.Symmetric // mean products of the columns, the last of which is 1
	Spread   float64       // mean variance of a record's logit over the posterior
	Records  float64       // at least 1
}

// Shorten shortens the slopes and the intercept, the last weight, of a mean to the shares that are sure not
// to lose, and returns that of the slopes.
func (r Response) Shorten(mean []float64) (slopes float64) {
	last := len(mean) - 1
	slopes = r.gain(mean, 0, last).share()
	mean[last] *= r.gain(mean, last, last+1).share()
	floats.Scale(slopes, mean[:last])
	return slopes
}

// gain is that of the weights from one to before another. Over the posterior logits are as if they were
// shorter ([MacKay92]).
func (r Response) gain(mean []float64, from, to int) gain {
	short := 1 / math.Sqrt(1+r.Spread/logistic.Probit)
	g := gain{records: r.Records, alike: to-from == 1}
	variance := 0.0
	for i := from; i < to; i++ {
		g.linear += short * (mean[i]*r.Start[i] - r.Joint.At(i, i))
		g.own += short * r.Joint.At(i, i)
		g.rest += short * mean[i] * r.Rest[i]
		for j := range mean {
			variance += r.Joint.At(i, j) * r.Joint.At(j, i)
		}
		for j := from; j < to; j++ {
			variance += mean[i] * mean[j] * r.Noise.At(i, j)
			g.square += short * short * r.Records / 4 * mean[i] * mean[j] * r.Products.At(i, j)
		}
	}
	g.sd = short * math.Sqrt(max(0, variance))
	return g
}

// assured shortens the slopes and the intercept of a mean to the shares that are sure not to lose. The mean's
// derivative by the scores is the factor times what it would be if it were linear in them.
func (d Diagonal) assured(m *gauss.Moments, factor float64) {
	last := len(m.Mean) - 1
	if d.Records == 0 || !(d.Precision[last] > 0) {
		return
	}
	r := Response{Start: make([]float64, last+1), Rest: make([]float64, last+1), Records: d.Records}
	if d.Answered > 0 {
		r.Records *= d.Answered
	}
	diagonal := func() *mat.DiagDense { return mat.NewDiagDense(last+1, nil) }
	noise, joint, squares := diagonal(), diagonal(), diagonal()
	for i, p := range d.Precision {
		r.Start[i] = d.linear(i)
		r.Rest[i] = r.Start[i] - p*m.Mean[i]
		squares.SetDiag(i, 4*max(0, p)/r.Records) // by the curvature where parties were
		r.Spread += m.Variance[i] * p / d.Precision[last]
		noise.SetDiag(i, p+d.ScoreNoise[i])
		if r.Start[i] != 0 {
			joint.SetDiag(i, factor*m.Mean[i]/r.Start[i]*noise.At(i, i))
		}
	}
	r.Noise, r.Joint, r.Products = noise, joint, squares
	r.Shorten(m.Mean)
}
