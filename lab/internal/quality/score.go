// Package quality scores posteriors: how often their intervals have the true weights, how wide they are
// next to those of all rows without privacy, and how far predicted probabilities are from shares.
package quality

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/session/app"
	"choir/session/result"
)

// Names of the posteriors of a method.
const (
	Plain = "plain"
	Aware = "noise-aware"
)

// Reference is what posteriors are held against.
type Reference struct {
	Test     bayes.Data
	Features int
	Numbers  bool      // targets are numbers
	SD       float64   // mean standard deviation of the non-private posterior's weights; 0: none
	Truth    []float64 // the weights that made the data; nil: unknown
	// Levels has the first column of each category and the one after its last. In the place of its levels and
	// of the intercept the coverage counts differences of levels from the first, which records tell.
	Levels [][2]int
}

// Logistic is the reference of data with two classes.
func Logistic(d *experiment.Data, truth []float64) (Reference, error) {
	r := Reference{Test: d.Test, Features: d.Schema.Dim(), Truth: truth}
	var err error
	r.SD, err = NonPrivate(d.Train, r.Features, false, 0)
	return r, err
}

// Scores are those of a run's posterior, and of the one that counts its noise where there is one.
func (r Reference) Scores(out *bed.Outcome, a app.Spec) ([]study.Score, error) {
	s, err := r.Score(Plain, out.Last)
	if err != nil {
		return nil, err
	}
	all := []study.Score{s}
	if out.Spent.Epsilon == 0 {
		return all, nil
	}
	q, err := result.NoiseAware(out.Plan, a, out.Trace)
	if errors.Is(err, pvi.ErrUncorrected) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	s, err = r.Score(Aware, q)
	return append(all, s), err
}

// Score is that of one posterior. The posterior of a network has neither width nor coverage.
func (r Reference) Score(name string, q *bayes.Posterior) (s study.Score, err error) {
	s.Posterior = name
	scores, err := q.Evaluate(r.Test)
	if err != nil {
		return s, err
	}
	s.LogLikelihood = scores.LogLikelihood
	if sd := q.SD(); len(sd) == r.Features {
		if r.SD > 0 {
			s.Width = floats.Sum(sd) / float64(len(sd)) / r.SD
		}
		if r.Truth != nil {
			s.Coverage = r.covered(q)
		}
	}
	if r.Numbers {
		s.Reliability, err = r.quantiles(q)
	} else {
		s.Reliability, err = r.probabilities(q)
	}
	s.ECE = study.Error(s.Reliability)
	return s, err
}

// covered are the shares of what is true that central intervals hold.
func (r Reference) covered(q *bayes.Posterior) *[3]float64 {
	if len(r.Levels) == 0 {
		return Covered(q, r.Truth)
	}
	mean, variance, truth := differences(r.Levels, q, r.Truth)
	return within(mean, variance, truth)
}

// differences are the marginals of the weights before the first category's, and of the differences of levels
// from each category's first, with what is true of them.
func differences(levels [][2]int, q *bayes.Posterior, known []float64) (mean, variance, truth []float64) {
	m, c := q.Mean(), q.Covariance()
	for j := range levels[0][0] {
		mean, variance, truth = append(mean, m[j]), append(variance, c.At(j, j)), append(truth, known[j])
	}
	for _, l := range levels {
		for i, j := l[0], l[0]+1; j < l[1]; j++ {
			mean, truth = append(mean, m[j]-m[i]), append(truth, known[j]-known[i])
			variance = append(variance, c.At(i, i)+c.At(j, j)-2*c.At(i, j))
		}
	}
	return mean, variance, truth
}

// Covered are the shares of the true weights in central intervals of study.Levels.
func Covered(q *bayes.Posterior, truth []float64) *[3]float64 {
	variance := q.SD()
	for j, sd := range variance {
		variance[j] = sd * sd
	}
	return within(q.Mean(), variance, truth)
}

// within are the shares of numbers in central intervals of study.Levels of normal laws.
func within(mean, variance, truth []float64) *[3]float64 {
	c := new([3]float64)
	for j, w := range truth {
		for k, level := range study.Levels() {
			if math.Abs(mean[j]-w) <= math.Sqrt2*math.Erfinv(level)*math.Sqrt(variance[j]) {
				c[k] += 1 / float64(len(truth))
			}
		}
	}
	return c
}

// predictions shows the predictions of all test rows.
func (r Reference) predictions(q *bayes.Posterior, show func(p bayes.Prediction, y float64)) error {
	for i, y := range r.Test.Y {
		p, err := q.Predict(r.Test.X[i*r.Features : (i+1)*r.Features])
		if err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
		show(p, y)
	}
	return nil
}

// probabilities has a bin for every tenth of predicted probability.
func (r Reference) probabilities(q *bayes.Posterior) (bins [study.Bins]study.Bin, err error) {
	err = r.predictions(q, func(p bayes.Prediction, y float64) {
		b := &bins[min(study.Bins-1, int(p.Mean*study.Bins))]
		b.Rows++
		b.Predicted += p.Mean
		b.Observed += y
	})
	for i := range bins {
		n := float64(max(1, bins[i].Rows))
		bins[i].Predicted = min(1, bins[i].Predicted/n)
		bins[i].Observed /= n
	}
	return bins, err
}

// quantiles has a bin for each of the quantiles .05, .15, ..., .95 of normal predictive distributions.
func (r Reference) quantiles(q *bayes.Posterior) (bins [study.Bins]study.Bin, err error) {
	n := r.Test.Rows()
	for i := range bins {
		bins[i] = study.Bin{Rows: n, Predicted: (float64(i) + 0.5) / study.Bins}
	}
	err = r.predictions(q, func(p bayes.Prediction, y float64) {
		u := distuv.UnitNormal.CDF((y - p.Mean) / p.SD)
		for i := range bins {
			if u <= bins[i].Predicted {
				bins[i].Observed += 1 / float64(n)
			}
		}
	})
	for i := range bins {
		bins[i].Observed = min(1, bins[i].Observed)
	}
	return bins, err
}
