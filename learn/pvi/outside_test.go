package pvi

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// outsideFunc is an Outside in a function.
type outsideFunc func(OutsideWork) ([][]float64, error)

func (f outsideFunc) Updates(_ context.Context, w OutsideWork) ([][]float64, error) { return f(w) }

// same does outside what the model does inside.
func same(c Config, shards []bayes.Data) outsideFunc {
	return func(w OutsideWork) ([][]float64, error) {
		updates := make([][]float64, len(shards))
		for k, d := range shards {
			updates[k] = make([]float64, c.Dim())
			c.site(d).Update(model.NewWorkspace(c.Weights(), d.Rows()), updates[k], w.Global, w.Cavity[k])
		}
		return updates, nil
	}
}

// A party whose program does what the model does sends the same integers, keeps the
// same factors, and is clipped alike.
func TestOutsideEqualsInside(t *testing.T) {
	averaging := logisticConfig()
	averaging = as(averaging, NameAveraging)
	sparing := logisticConfig() // 40 records do not carry half of the start
	sparing.StartPrecision = 30
	sparing.Strategy = Virtual{Shards: 400, ShardRows: 1, Fit: sparing.Strategy.(Virtual).Fit}
	for name, c := range map[string]Config{"virtual": logisticConfig(), "averaging": averaging,
		"with a spare factor": sparing} {
		t.Run(name, func(t *testing.T) {
			data := dense(c, 3, 40)
			in, err := NewLearner(c, data, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			out, err := in.WithOutside(same(c, data.Split(in.Shards())))
			if err != nil {
				t.Fatal(err)
			}
			raw := c.Initial()
			a := in.InitialState()
			b := out.InitialState()
			for round := 1; round <= 3; round++ {
				want, err := in.Propose(t.Context(), round, raw, a)
				if err != nil {
					t.Fatal(err)
				}
				got, err := out.Propose(t.Context(), round, raw, b)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Update, want.Update) || !bytes.Equal(got.Memo, want.Memo) ||
					got.ClippedFraction != want.ClippedFraction {
					t.Fatalf("round %d: updates differ", round)
				}
				if raw, err = c.Fold(round, raw, got.Update); err != nil {
					t.Fatal(err)
				}
				if a, err = in.Settle(round, a, want.Memo); err != nil {
					t.Fatal(err)
				}
				if b, err = out.Settle(round, b, got.Memo); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func externalConfig() Config {
	return Config{
		Model: bayes.External, Family: gauss.MeanField, Strategy: Dataset{}, Features: 2,
		Parameters: 3, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.5, FracBits: 20,
		DampingBits: 16, Damping: 0.5,
	}
}

// For every answer from outside, the update is finite and within the clip, or there is an
// error.
func TestOutsideIsClipped(t *testing.T) {
	c := externalConfig()
	l, err := NewLearner(c, bayes.Data{X: []float64{1, 1}, Y: []float64{5}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Propose(t.Context(), 1, c.Initial(), l.InitialState()); !errors.Is(err, ErrOutside) {
		t.Errorf("a model without a program: %v, want ErrOutside", err)
	}
	good := []float64{1, 2, 3, -4, 5, 6}
	with := func(i int, v float64) [][]float64 { u := slices.Clone(good); u[i] = v; return [][]float64{u} }
	failure := errors.New("it failed")
	for name, tc := range map[string]struct {
		updates [][]float64
		err     error
		want    error
		zero    bool // in the place of the party's absence
	}{
		"good":     {updates: [][]float64{good}},
		"huge":     {updates: with(2, 1e300)},
		"NaN":      {updates: with(5, math.NaN()), zero: true},
		"infinite": {updates: with(0, math.Inf(-1)), zero: true},
		"short":    {updates: [][]float64{good[:5]}, want: ErrOutside},
		"shards":   {updates: [][]float64{good, good}, want: ErrOutside},
		"nothing":  {want: ErrOutside},
		"failure":  {err: failure, want: failure},
	} {
		out, err := l.WithOutside(outsideFunc(func(OutsideWork) ([][]float64, error) {
			return tc.updates,
				tc.err
		}))
		if err != nil {
			t.Fatal(err)
		}
		p, err := out.Propose(t.Context(), 1, c.Initial(), l.InitialState())
		if !errors.Is(err, tc.want) || (tc.want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if err != nil {
			continue
		}
		var square float64
		for _, v := range p.Update {
			square += math.Ldexp(float64(v), -20) * math.Ldexp(float64(v), -20)
		}
		if tc.zero && square == 0 && p.ClippedFraction == 1 {
			continue
		}
		if n := math.Sqrt(square); n > 0.5 || n < 0.4999 || p.ClippedFraction != 1 {
			t.Errorf("%s: norm %v, want the clip of 1/2", name, n)
		}
	}
}

func TestOutsideNeedsShards(t *testing.T) {
	c := logisticConfig()
	c.Beta = 0
	c = as(c, NameOptimisation)
	l, err := NewLearner(c, dense(c, 1, 9), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.WithOutside(same(c, nil)); !errors.Is(err, ErrOutside) {
		t.Errorf("clipping single records outside: %v, want ErrOutside", err)
	}
}

func TestExternalModel(t *testing.T) {
	c := externalConfig()
	if err := c.Validate(); err != nil || c.Weights() != 3 || c.Dim() != 6 {
		t.Errorf("%v, %d weights, %d numbers", err, c.Weights(), c.Dim())
	}
	p, err := c.Posterior(c.Initial())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Predict([]float64{1, 1}); !errors.Is(err, bayes.ErrNoPredictor) {
		t.Errorf("prediction: %v, want ErrNoPredictor", err)
	}
	_, err = p.Evaluate(bayes.Data{X: []float64{1, 1}, Y: []float64{5}})
	if !errors.Is(err, bayes.ErrNoPredictor) {
		t.Errorf("evaluation: %v, want ErrNoPredictor", err)
	}
	c.Parameters = 0
	if err := c.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("no weights: %v, want ErrConfig", err)
	}
}

// An exported posterior predicts like the one that was learnt.
func TestLikelihoodRestores(t *testing.T) {
	for _, c := range []Config{logisticConfig(), linearConfig(gauss.Full), linearConfig(gauss.MeanField),
		networkConfig()} {
		p, err := c.Posterior(c.Initial())
		if err != nil {
			t.Fatal(err)
		}
		l := p.Likelihood()
		back, err := l.Posterior(p.Natural())
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, c.Features)
		x[0], x[c.Features-1] = 0.3, 1
		want, err := p.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := back.Predict(x); err != nil || got != want {
			t.Errorf("%s: predicted %+v, %v, want %+v", c.Model, got, err, want)
		}
		if n := len(l.WeightNames(make([]string, c.Features))); n != c.Weights() {
			t.Errorf("%s: %d names of %d weights", c.Model, n, c.Weights())
		}
		if _, err := l.Posterior(p.Natural()[1:]); !errors.Is(err, bayes.ErrShape) {
			t.Errorf("%s: a short vector: %v, want ErrShape", c.Model, err)
		}
		l.Features = 0
		if _, err := l.Posterior(p.Natural()); !errors.Is(err, bayes.ErrLikelihood) {
			t.Errorf("%s: no features: %v, want ErrLikelihood", c.Model, err)
		}
	}
}
