package result

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/internal/atomicfile"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
)

// levelModel is a posterior that counts the noise, of an age, two wards and the bias, with a covariance of
// single weights that isn't the predictive one.
func levelModel(t *testing.T) *ModelFile {
	t.Helper()
	f := wardModel(t, dataset.Refuse, dataset.Refuse)
	m := &gauss.Moments{Mean: f.Mean, Variance: make([]float64, 4), Covariance: mat.NewSymDense(4, nil)}
	for i, sd := range f.SD {
		m.Covariance.SetSym(i, i, sd*sd)
		m.Variance[i] = sd * sd
	}
	like := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.Full, Features: 4}
	q, err := like.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil {
		t.Fatal(err)
	}
	f.Predictive = &Predictive{Likelihood: q.Likelihood(), Natural: q.Natural()}
	f.NoiseIncluded = true
	q = q.Told(schema.Levels()).Untold(1)
	f.Mean, f.SD = q.Mean(), q.SD()
	f.setCovariance(q, schema)
	return f
}

// TestCovarianceOfAFile: both forms of a file have the covariance of single weights, and the coefficients
// have its intercept.
func TestCovarianceOfAFile(t *testing.T) {
	f := levelModel(t)
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.json", "model.npz"} {
		got, err := ReadModel(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		q, err := got.posterior()
		if err != nil {
			t.Fatal(err)
		}
		shift := mat.NewVecDense(4, []float64{0, 1, 1, -1})
		if v := mat.Inner(shift, q.Covariance(), shift) / 3; math.Abs(v-1) > 1e-9 {
			t.Errorf("%s: the shift has the variance %g, want 1", name, v)
		}
		difference := mat.NewVecDense(4, []float64{0, 1, -1, 0})
		if v := mat.Inner(difference, q.Covariance(), difference); math.Abs(v-0.18) > 1e-9 {
			t.Errorf("%s: the difference of the levels has the variance %g, want .18", name, v)
		}
		all, err := got.Coefficients(nil, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		// .25 of the age and, of the bias, .04 - 2/3 .04 + (.09 + .09 + .04)/9 + 1/3
		want := math.Sqrt(0.25 + 0.04 - 2./3*0.04 + 0.22/9 + 1./3)
		if k := all.Coefficients[3]; math.Abs(k.SD-want) > 1e-9 {
			t.Errorf("%s: the intercept has the standard deviation %g, want %g", name, k.SD, want)
		}
		if err := sameModel(filepath.Join(dir, name), f); err != nil {
			t.Error(err)
		}
	}
}

func TestCovarianceRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, spoil := range map[string]func(*ModelFile){
		"0 rows":             func(f *ModelFile) { f.Covariance = nil },
		"3 numbers":          func(f *ModelFile) { f.Covariance[1] = f.Covariance[1][:3] },
		"differ":             func(f *ModelFile) { f.Covariance[1][2] += 0.1 },
		"variance 3":         func(f *ModelFile) { f.Covariance[3][3] *= 2 },
		"positive":           func(f *ModelFile) { f.Covariance[0][1], f.Covariance[1][0] = 5, 5 },
		"the predictive one": func(f *ModelFile) { f.NoiseIncluded = false },
	} {
		f := levelModel(t)
		spoil(f)
		path := filepath.Join(dir, "model.json")
		if err := atomicfile.WriteJSON(path, f); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadModel(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q", err, name)
		}
	}
	f := levelModel(t)
	path := filepath.Join(dir, "model.json")
	altered := levelModel(t)
	altered.Covariance[0][1] += 1e-3
	altered.Covariance[1][0] += 1e-3
	if err := atomicfile.WriteJSON(path, altered); err != nil {
		t.Fatal(err)
	}
	if err := sameModel(path, f); err == nil || !strings.Contains(err.Error(), "covariance") {
		t.Errorf("an altered covariance: %v", err)
	}
}

// TestLongUntold: a file is read in which what is untold of two levels is so long that their difference is
// lost in the rounding of the covariance.
func TestLongUntold(t *testing.T) {
	f := levelModel(t)
	f.SD = []float64{1, 1e8, 1e8, 1e8}
	level := []float64{0, 1e16, 1e16, -1e16}
	f.Covariance = [][]float64{{1, 0, 0, 0}, level, level, {0, -1e16, -1e16, 1e16}}
	if err := f.check(); err != nil {
		t.Error(err)
	}
}
