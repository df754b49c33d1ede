package quality

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// posterior has the given means and a standard deviation for all weights.
func posterior(t *testing.T, l bayes.Likelihood, sd float64, mean ...float64) *bayes.Posterior {
	t.Helper()
	l.Family, l.Features = gauss.MeanField, len(mean)
	natural := make([]float64, 2*len(mean))
	for j, m := range mean {
		natural[j], natural[len(mean)+j] = m/(sd*sd), -0.5/(sd*sd)
	}
	q, err := l.Posterior(natural)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestProbabilities: of rows with probabilities 1/(1+e) and 1/(1+1/e) the half are ones, so that each is
// off by .2311.
func TestProbabilities(t *testing.T) {
	q := posterior(t, bayes.Likelihood{Model: bayes.Logistic}, 1e-3, 1)
	r := Reference{Test: bayes.Data{X: []float64{-1, -1, 1, 1}, Y: []float64{0, 1, 0, 1}}, Features: 1, SD: 5e-4,
		Truth: []float64{1.0015}}
	s, err := r.Score(Plain, q)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.ECE-0.23106) > 1e-4 || s.Reliability[2].Rows != 2 || s.Reliability[7].Rows != 2 ||
		math.Abs(s.Width-2) > 1e-9 || *s.Coverage != [3]float64{0, 1, 1} {
		t.Errorf("%+v, coverage %v", s, s.Coverage)
	}
}

// TestCoverageOfLevels: with a category the slope before it and the difference of its levels count, by their
// covariance, and what moves both levels doesn't.
func TestCoverageOfLevels(t *testing.T) {
	m := &gauss.Moments{Mean: []float64{1, 5, 6, 2}, Variance: []float64{1, 100, 100, 100},
		Covariance: mat.NewSymDense(4, []float64{1, 0, 0, 0, 0, 100, 99.5, -99, 0, 99.5, 100, -99,
			0, -99, -99, 100})}
	q, err := bayes.Likelihood{Model: bayes.Logistic, Features: 4}.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	r := Reference{Features: 4, Truth: []float64{2.8, 50, 50.5, 90}, Levels: [][2]int{{1, 3}}}
	// the slope is 1.8 standard deviations off, and the difference, whose variance is 1, is .5
	if got := *r.covered(q); got != [3]float64{0.5, 0.5, 1} {
		t.Errorf("%v", got)
	}
	r.Levels = nil
	if got := *r.covered(q); got != [3]float64{0, 0, 0.25} {
		t.Errorf("%v of single weights", got)
	}
}

// TestQuantiles: targets at the quantiles of the predictions are calibrated; shifted by a standard
// deviation they aren't, by 1/10 of the sum of |u - Phi(Phi^-1(u) - 1)|.
func TestQuantiles(t *testing.T) {
	q := posterior(t, bayes.Likelihood{Model: bayes.Linear, NoiseSD: 0.5}, 1e-3, 2)
	const n = 1000
	for _, shift := range []float64{0, 1} {
		d := bayes.Data{}
		for i := range n {
			z := distuv.UnitNormal.Quantile((float64(i) + 0.5) / n)
			d.X, d.Y = append(d.X, 0), append(d.Y, 0.5*(z+shift))
		}
		s, err := Reference{Test: d, Features: 1, Numbers: true}.Score(Plain, q)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for i := range 10 {
			u := (float64(i) + 0.5) / 10
			want += math.Abs(u-distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(u)-shift)) / 10
		}
		if math.Abs(s.ECE-want) > 0.002 || s.Width != 0 || s.Coverage != nil {
			t.Errorf("shift %g: %v, want %v", shift, s.ECE, want)
		}
	}
}

// TestNonPrivate: for columns of 1 alone in half of n rows each, precisions are 1 + n/2/s^2.
func TestNonPrivate(t *testing.T) {
	d := bayes.Data{}
	for i := range 100 {
		d.X, d.Y = append(d.X, float64(i%2), float64(1-i%2)), append(d.Y, float64(i%3))
	}
	got, err := NonPrivate(d, 2, true, 0.5)
	if want := 1 / math.Sqrt(1+50/0.25); err != nil || math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
}
