package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/shrink"
)

// Diagonal is what rounds revealed of d weights where nothing is known of the curvature beyond
// its diagonal.
type Diagonal struct {
	Prior     float64   // precision of every weight, around 0
	Scales    Scales    // of weights in predictions
	Floor     float64   // least precision of the public posterior; 0: none
	Precision []float64 // of the likelihood's factor, with noise
	Point     []float64 // where parties computed it
	// Scores are the log-likelihood's gradients at Origin by the factor, with noise.
	Scores, Origin []float64
	// ScoreNoise and PrecisionNoise are the variances of the noise.
	ScoreNoise, PrecisionNoise []float64
	// Answered is the share of the records' best factors that clips have left in scores and precisions,
	// of which the variance of the scores by sampling has the square; 0: all. Only what is kept of a
	// mean goes by it.
	Answered float64
	// Records are those of classes, in which case what is kept of a mean is also sure not to lose; 0: of
	// numbers.
	Records float64
}

// correlated is what the squared correlations of a column with all others are taken to add up to
// where nothing is known of them: two neighbours correlated by .77 each.
const correlated = 1.2

// Posterior returns the posterior that predicts, as if columns were not correlated, and the variances
// of single weights about its means, which count the correlations, at most the prior's. A weight's
// score at the origin o is N(p (w - o), p + v + e (w - o)^2 + c) with p the estimate of its precision
// and e the variance of its error. At the point m correlated columns add sum_j r_ij sqrt(p_i p_j)
// (w_j - m_j), whose expected square c is for unknown correlations r.
func (d Diagonal) Posterior() (m, single *gauss.Moments) {
	var e []float64
	d.Precision, e = d.Pooled()
	prior := d.Scales.Precisions(d.Prior, len(d.Scores))
	m = d.each(e, 0, prior)
	if d.Floor > 0 {
		m = d.predictive(e, prior)
	}
	wide := d.each(e, correlated, Scales(nil).Precisions(d.Prior, len(d.Scores)))
	return m, shrink.About(m, wide, d.Prior)
}

// Pooled returns the precisions without their noise as far as that can be told, and the variances of what is
// left of it.
func (d Diagonal) Pooled() (precision, left []float64) {
	precision, left = pooled(d.Precision, d.PrecisionNoise)
	for i, p := range precision {
		precision[i] = positive(p, math.Sqrt(left[i]))
	}
	return precision, left
}

// predictive is the posterior that predicts with a floor, for errors of the precisions of variance e.
// Weights of columns that belong together, such as a category's, are good together only: means that
// are shrunk one by one, each by its own noise, no longer add up. So a mean is the shorter one of two,
// as if its precision were exact and as the public posterior has it, with the floor. Variances have
// the floor in the place of the prior's precision.
func (d Diagonal) predictive(e, prior []float64) *gauss.Moments {
	n := len(d.Scores)
	floor := make([]float64, n)
	for i, p := range prior {
		floor[i] = max(p, d.Floor)
	}
	m := d.alone(e, floor)
	for i, own := range d.alone(e, prior).Mean {
		m.Mean[i] = own
		if public := d.linear(i) / max(d.Precision[i], floor[i]); math.Abs(public) < math.Abs(own) {
			m.Mean[i] = public
		}
	}
	return m
}

// alone is the posterior of each weight by itself. Means are as if precisions were exact, and
// variances have their errors of variance e.
func (d Diagonal) alone(e, prior []float64) *gauss.Moments {
	n := len(d.Scores)
	m := &gauss.Moments{Mean: make([]float64, n), Variance: make([]float64, n)}
	for i, p := range d.Precision {
		m.Variance[i] = 1 / prior[i]
		if p == 0 {
			continue
		}
		weight := p / (p + d.ScoreNoise[i])
		m.Mean[i] = weight * d.linear(i) / (prior[i] + weight*p)
		away := m.Mean[i] - d.Origin[i]
		m.Variance[i] = 1 / (prior[i] + p*p/(p+d.ScoreNoise[i]+e[i]*(away*away+1/prior[i])))
	}
	return m
}

// linear is the linear part of the likelihood's factor.
func (d Diagonal) linear(i int) float64 { return d.Scores[i] + d.Precision[i]*d.Origin[i] }

// each is the posterior of each weight by itself under a prior of these precisions, for errors of the
// likelihood's precisions of variance e, and squared correlations that add up to r.
func (d Diagonal) each(e []float64, r float64, prior []float64) *gauss.Moments {
	n := len(d.Scores)
	m := &gauss.Moments{Mean: make([]float64, n), Variance: make([]float64, n)}
	for i := range m.Variance {
		m.Variance[i] = 1 / prior[i]
	}
	for range 8 * passes {
		away := 0.0
		for j, p := range d.Precision {
			away += p * ((m.Mean[j]-d.Point[j])*(m.Mean[j]-d.Point[j]) + m.Variance[j]) / float64(n)
		}
		for i, p := range d.Precision {
			weight := 1.0
			if p > 0 {
				square := (m.Mean[i]-d.Origin[i])*(m.Mean[i]-d.Origin[i]) + m.Variance[i]
				weight = p / (p + d.ScoreNoise[i] + e[i]*square + r*p*away)
			}
			m.Variance[i] = 1 / (prior[i] + weight*p)
			m.Mean[i] = weight * d.linear(i) * m.Variance[i]
		}
	}
	return m
}

// pooled moves values with noise of the variances v towards their mean by what the noise explains
// of their spread. It returns the variances of what is left of the noise.
func pooled(values, v []float64) (out, left []float64) {
	n := float64(len(values))
	mean, noise := floats.Sum(values)/n, floats.Sum(v)/n
	spread := 0.0
	for _, x := range values {
		spread += (x - mean) * (x - mean) / n
	}
	kept := 0.0
	if spread > noise {
		kept = 1 - noise/spread
	}
	for i, x := range values {
		out = append(out, mean+kept*(x-mean))
		left = append(left, v[i]*kept+noise*(1-kept)/n)
	}
	return out, left
}
