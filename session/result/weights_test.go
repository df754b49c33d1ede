package result

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// TestWeightsOfAFile: single weights are those of the file, and means other than the predictive's are an
// error but of a logistic model that counts the noise.
func TestWeightsOfAFile(t *testing.T) {
	schema := dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Missing: dataset.Refuse, Unseen: dataset.Refuse, Target: dataset.Binary("y", "no", "yes"),
		Columns: []dataset.Column{dataset.Standardised("x", -3, 3, 0, 1)}}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		family gauss.Family
		aware  bool
		mean   []float64
		ok     bool
	}{
		{gauss.Full, true, []float64{2, 1}, true},
		{gauss.Full, false, []float64{2, 1}, false},
		{gauss.MeanField, true, []float64{2, 1}, true},
		{gauss.MeanField, false, []float64{2, 1}, false},
		{gauss.MeanField, true, []float64{0.5, -1}, true},
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
			SD: []float64{1, 2}, NoiseIncluded: c.aware, Predictive: &Predictive{
				Likelihood: pvi.Likelihood{Model: pvi.Logistic, Family: c.family, Features: 2}, Natural: natural}}
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
