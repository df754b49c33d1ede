package calibration

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"choir/lab/experiment"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

// noiseSD is that of the linear worlds' residuals.
const noiseSD = 0.5

// reference adds the log-likelihoods that need no learning.
func (t *tally) reference(d *experiment.Data) error {
	n := d.Schema.Dim()
	like := bayes.Likelihood{Model: t.world.model(), Family: gauss.MeanField, Features: n}
	if t.world.Linear {
		like.NoiseSD = noiseSD
	}
	natural := make([]float64, 2*n)
	floats.AddConst(-0.5, natural[n:]) // N(0, I)
	q, err := like.Posterior(natural)
	if err != nil {
		return err
	}
	s, err := q.Evaluate(d.Test)
	if err != nil {
		return err
	}
	t.prior = append(t.prior, s.LogLikelihood)
	mean, variance := stat.PopMeanVariance(d.Train.Y, nil)
	rows := float64(d.Test.Rows())
	ll := 0.0
	for _, y := range d.Test.Y {
		switch {
		case t.world.Linear:
			ll -= (math.Log(2*math.Pi*variance) + (y-mean)*(y-mean)/variance) / (2 * rows)
		default:
			ll += (y*math.Log(mean) + (1-y)*math.Log1p(-mean)) / rows
		}
	}
	t.constant = append(t.constant, ll)
	return nil
}
