package result

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/mcmc"
)

// TestWeightsOfAFile: single weights are those of the file, and means other than the predictive's are an
// error but of a posterior that counts the noise and is logistic, mean-field or fitted to the trace.
func TestWeightsOfAFile(t *testing.T) {
	schema := dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Missing: dataset.Refuse, Unseen: dataset.Refuse, Target: dataset.Binary("y", "no", "yes"),
		Columns: []dataset.Column{dataset.Standardised("x", -3, 3, 0, 1)}}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	draws := func(m mcmc.Method) *Draws { return &Draws{Method: m, Chains: 1, Values: [][]float64{{0.5, -1}}} }
	for _, c := range []struct {
		model  bayes.Model
		family gauss.Family
		draws  *Draws
		aware  bool
		mean   []float64
		ok     bool
	}{
		{bayes.Logistic, gauss.Full, nil, true, []float64{2, 1}, true},
		{bayes.Logistic, gauss.Full, nil, false, []float64{2, 1}, false},
		{bayes.Logistic, gauss.MeanField, nil, true, []float64{2, 1}, true},
		{bayes.Logistic, gauss.MeanField, nil, false, []float64{2, 1}, false},
		{bayes.Logistic, gauss.MeanField, nil, true, []float64{0.5, -1}, true},
		{bayes.Linear, gauss.MeanField, nil, true, []float64{2, 1}, true},
		{bayes.Linear, gauss.MeanField, nil, false, []float64{2, 1}, false},
		{bayes.Linear, gauss.Full, nil, true, []float64{2, 1}, false},
		{bayes.Logistic, gauss.Full, draws(mcmc.Trace), true, []float64{2, 1}, true},
		{bayes.Logistic, gauss.Full, draws(mcmc.Penalty), true, []float64{2, 1}, false},
	} {
		m := &gauss.Moments{Mean: []float64{0.5, -1}, Variance: []float64{0.25, 0.25}}
		if c.family == gauss.Full {
			m.Covariance = mat.NewSymDense(2, []float64{0.25, 0.1, 0.1, 0.25})
		}
		natural, err := gauss.Space{Family: c.family, Features: 2}.Natural(m)
		if err != nil {
			t.Fatal(err)
		}
		f := &ModelFile{SchemaVersion: 1, Schema: raw, Columns: []string{"x", "intercept"}, Mean: c.mean,
			SD: []float64{1, 2}, NoiseIncluded: c.aware, Draws: c.draws, Predictive: &Predictive{
				Likelihood: bayes.Likelihood{Model: c.model, Family: c.family, Features: 2}, Natural: natural}}
		if c.model == bayes.Linear {
			f.Predictive.NoiseSD = 1
		}
		if err := f.check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		q, err := f.posterior()
		if err != nil {
			t.Fatal(err)
		}
		if c.ok && (!alike(q.Mean(), c.mean) || !alike(q.SD(), f.SD)) {
			t.Errorf("%+v: means %v, standard deviations %v", c, q.Mean(), q.SD())
		}
		if !alike(q.Natural(), natural) {
			t.Errorf("%+v: predictions changed", c)
		}
	}
}

func alike(a, b []float64) bool { return slices.EqualFunc(a, b, near) }
