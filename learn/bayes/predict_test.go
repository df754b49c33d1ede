package bayes

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"choir/learn/gauss"
)

// posteriorOf is a posterior with these natural parameters, nothing lifted.
func posteriorOf(t *testing.T, l Likelihood, natural []float64) *Posterior {
	t.Helper()
	p, err := l.Posterior(natural)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// classes and numbers have four columns.
func classes() Likelihood { return Likelihood{Model: Logistic, Family: gauss.MeanField, Features: 4} }

func numbers(f gauss.Family) Likelihood {
	return Likelihood{Model: Linear, Family: f, Features: 4, NoiseSD: 0.5}
}

// standard is a standard normal law of four weights.
func standard(t *testing.T, l Likelihood) *Posterior {
	t.Helper()
	m := &gauss.Moments{Mean: make([]float64, 4), Variance: []float64{1, 1, 1, 1}}
	if l.Family == gauss.Full {
		m.Covariance = diagonal(m.Variance)
	}
	p, err := l.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLogisticPredictive(t *testing.T) {
	c := classes()
	c.Features = 2
	p := posteriorOf(t, c, []float64{2, -3, -0.5, -1}) // means 2, -1.5, variances 1, 1/2
	x := []float64{0.5, 1}
	mu, sd := 2*0.5-1.5, math.Sqrt(0.25+0.5)
	normal := distuv.Normal{Mu: mu, Sigma: sd}
	want := quad.Fixed(func(a float64) float64 { return normal.Prob(a) / (1 + math.Exp(-a)) }, mu-12*sd,
		mu+12*sd, 400, nil, 0)
	got, err := p.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Mean-want) > 1e-10 || math.Abs(got.SD-math.Sqrt(want*(1-want))) > 1e-10 {
		t.Errorf("predicted %+v, want probability %v", got, want)
	}
	s, err := p.Evaluate(Data{X: append(x, x...), Y: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	ll := 0.5 * (math.Log(want) + math.Log(1-want))
	rmse := math.Sqrt(0.5 * (want*want + (1-want)*(1-want)))
	if s.Rows != 2 || s.Accuracy != 0.5 || math.Abs(s.LogLikelihood-ll) > 1e-10 ||
		math.Abs(s.RMSE-rmse) > 1e-10 {
		t.Errorf("scores %+v, want accuracy 0.5, log-likelihood %v, rmse %v", s, ll, rmse)
	}
}

func TestLinearPredictive(t *testing.T) {
	for _, f := range []gauss.Family{gauss.MeanField, gauss.Full} {
		c := numbers(f)
		c.Features, c.NoiseSD = 2, 0.5
		natural := []float64{2, -3, -0.5, -1}
		variance := 0.25 + 0.5
		if f == gauss.Full { // precision [[2, 1], [1, 2]], covariance [[2, -1], [-1, 2]]/3, mean [1, 0]
			natural = []float64{2, 1, -1, -1, -1}
			variance = (0.25*2 - 2*0.5*1 + 2) / 3
		}
		p := posteriorOf(t, c, natural)
		mu := 2*0.5 - 1.5
		if f == gauss.Full {
			mu = 0.5
		}
		sd := math.Sqrt(variance + 0.25)
		got, err := p.Predict([]float64{0.5, 1})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Mean-mu) > 1e-12 || math.Abs(got.SD-sd) > 1e-12 {
			t.Errorf("%s: predicted %+v, want N(%v, %v)", f, got, mu, sd)
		}
		s, err := p.Evaluate(Data{X: []float64{0.5, 1}, Y: []float64{2}})
		if err != nil {
			t.Fatal(err)
		}
		want := distuv.Normal{Mu: mu, Sigma: sd}.LogProb(2)
		if s.Accuracy != 0 || math.Abs(s.RMSE-math.Abs(2-mu)) > 1e-12 ||
			math.Abs(s.LogLikelihood-want) > 1e-12 {
			t.Errorf("%s: scores %+v, want rmse %v, log-likelihood %v", f, s, math.Abs(2-mu), want)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	p := standard(t, classes())
	if _, err := p.Predict(make([]float64, 3)); !errors.Is(err, ErrShape) {
		t.Errorf("a short record: %v, want ErrShape", err)
	}
	if _, err := p.Evaluate(Data{}); !errors.Is(err, ErrData) {
		t.Errorf("no records: %v, want ErrData", err)
	}
	if _, err := p.Evaluate(Data{X: make([]float64, 4), Y: []float64{2}}); !errors.Is(err, ErrData) {
		t.Errorf("a label of 2: %v, want ErrData", err)
	}
}

func TestKL(t *testing.T) {
	c := numbers(gauss.MeanField)
	c.Features = 1
	p := posteriorOf(t, c, []float64{2, -2})       // N(1/2, 1/4)
	q := posteriorOf(t, c, []float64{-0.5, -0.25}) // N(-1, 2)
	want := 0.5 * (0.25/2 + 1.5*1.5/2 - 1 + math.Log(2/0.25))
	if got, err := p.KL(q); err != nil || math.Abs(got-want) > 1e-12 {
		t.Errorf("KL %v, %v, want %v", got, err, want)
	}
	full := numbers(gauss.Full)
	full.Features = 1
	if got, err := p.KL(posteriorOf(t, full, []float64{-0.5, -0.25})); err != nil ||
		math.Abs(got-want) > 1e-12 {
		t.Errorf("KL across families %v, %v, want %v", got, err, want)
	}
	if got, err := p.KL(p); err != nil || math.Abs(got) > 1e-15 {
		t.Errorf("KL to itself %v, %v, want 0", got, err)
	}
	for name, p := range map[string]*Posterior{ // single weights that are narrower, wider and elsewhere
		"narrower": p.WithWeights(p.Mean(), []float64{0.1}), "wider": p.WithWeights([]float64{3}, []float64{2}),
		"covariance": p.WithCovariance(mat.NewSymDense(1, []float64{0.01})),
	} {
		if got, err := p.KL(q); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("KL with %s single weights: %v, %v, want %v", name, got, err, want)
		}
		if got, err := p.KL(p); err != nil || math.Abs(got) > 1e-15 {
			t.Errorf("KL to itself with %s single weights: %v, %v, want 0", name, got, err)
		}
	}
	if _, err := p.KL(standard(t, numbers(gauss.Full))); !errors.Is(err, ErrShape) {
		t.Errorf("KL to other weights: %v, want ErrShape", err)
	}
}
