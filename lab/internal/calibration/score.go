package calibration

import (
	"math"

	"choir/lab/experiment"
	"choir/learn/pvi"
)

// score is what one posterior is worth.
type score struct {
	Coverage [3]float64 // of the levels
	Error    float64    // root mean square of the means against the true weights
	SD       float64    // mean
	LogLik   float64    // of the test rows
	ECE      float64    // of probabilities; 0 for numbers
}

// levels are the nominal probabilities of the intervals.
var levels = [3]float64{0.5, 0.9, 0.95}

// scoreOf compares a posterior with the true weights and the test rows.
func scoreOf(q *pvi.Posterior, truth []float64, d *experiment.Data, linear bool) (score, error) {
	var s score
	sd := q.SD()
	n := float64(len(truth))
	for j, w := range truth {
		e := q.Mean()[j] - w
		s.Error += e * e / n
		s.SD += sd[j] / n
		for k, level := range levels {
			if math.Abs(e) <= math.Sqrt2*math.Erfinv(level)*sd[j] {
				s.Coverage[k] += 1 / n
			}
		}
	}
	s.Error = math.Sqrt(s.Error)
	scores, err := q.Evaluate(d.Test)
	if err != nil {
		return s, err
	}
	s.LogLik = scores.LogLikelihood
	if !linear {
		s.ECE, err = calibrationError(q, d.Test)
	}
	return s, err
}

// bins of the reliability curve.
const bins = 10

// calibrationError is the mean distance of predicted probabilities from the shares of ones, over
// bins of equal width.
func calibrationError(q *pvi.Posterior, test pvi.Data) (float64, error) {
	var count, sum, ones [bins]float64
	features := len(test.X) / test.Rows()
	for i, y := range test.Y {
		p, err := q.Predict(test.X[i*features : (i+1)*features])
		if err != nil {
			return 0, err
		}
		b := min(bins-1, int(p.Mean*bins))
		count[b]++
		sum[b] += p.Mean
		ones[b] += y
	}
	e := 0.0
	for b := range bins {
		e += math.Abs(sum[b]-ones[b]) / float64(test.Rows())
	}
	return e, nil
}
