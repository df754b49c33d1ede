package result_test

import (
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// TestNoiseOfEveryStrategy: after a round model.json, predictions and coefficients say whether they
// count the privacy noise, under every strategy and model. Without a known correction they say why.
func TestNoiseOfEveryStrategy(t *testing.T) {
	adam := pvi.Fit{Steps: 5, LearningRate: 0.05}
	natural := pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1}
	newton := pvi.Fit{Optimiser: pvi.Newton, Steps: 1, LearningRate: 1}
	descent := pvi.Optimisation{Steps: 5, LearningRate: 0.05, Sampling: pvi.SamplingPoisson, SampleRate: 0.5}
	climb := descent
	climb.Optimiser = pvi.Natural
	const unfinished, strategy, network = "may stop before", "strategy", "not linear"
	for _, tc := range []struct {
		name     string
		strategy pvi.Strategy
		model    bayes.Model
		missing  string // why the noise is missing; empty if it isn't
	}{
		{"virtual", pvi.Virtual{Shards: 5, Fit: natural}, bayes.Logistic, ""},
		{"virtual linear", pvi.Virtual{Shards: 5}, bayes.Linear, ""},
		{"virtual adam", pvi.Virtual{Shards: 5, Fit: adam}, bayes.Logistic, unfinished},
		{"virtual network", pvi.Virtual{Shards: 5, Fit: adam}, bayes.BNN, network},
		{"dataset newton", pvi.Dataset{Fit: newton}, bayes.Logistic, ""},
		{"dataset", pvi.Dataset{Fit: natural}, bayes.Logistic, ""},
		{"dataset adam", pvi.Dataset{Fit: adam}, bayes.Logistic, unfinished},
		{"perturbation", pvi.Perturbation{Fit: natural}, bayes.Logistic, ""},
		{"averaging", pvi.Averaging{Shards: 3, Fit: natural}, bayes.Logistic, ""},
		{"optimisation", descent, bayes.Logistic, strategy},
		{"optimisation natural", climb, bayes.Logistic, ""},
		{"optimisation network", descent, bayes.BNN, network},
		{"hybrid", hybrid(t), bayes.Linear, strategy},
		{"analytic", pvi.Analytic{}, bayes.Linear, ""},
		{"committee, same prior", pvi.BCMSame{Optimisation: descent}, bayes.Logistic, strategy},
		{"committee, split prior", pvi.BCMSplit{Optimisation: descent, Parties: 3}, bayes.Logistic, strategy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := noiseFile(t, tc.strategy, tc.model)
			one, err := dataset.ReadRecords(strings.NewReader("x0,x1,x2\n0.5,-0.5,0\n"),
				dataset.CSVOptions{Name: "new.csv"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := f.Predict(one, "")
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(f.Warnings, "\n"); tc.missing == "" && strings.Count(all, "swamped") != 1 {
				t.Errorf("warnings of a posterior that is about the prior: %q", all)
			}
			notes := []string{f.Noise, p.Noise}
			included := []bool{f.NoiseIncluded, p.NoiseIncluded}
			if tc.model != bayes.BNN {
				c, err := f.Coefficients(nil, 0.9)
				if err != nil {
					t.Fatal(err)
				}
				notes = append(notes, c.NoiseNote)
				included = append(included, c.PrivacyNoiseIncluded)
			}
			for i, note := range notes {
				want := "privacy noise included"
				if tc.missing != "" {
					want = "privacy noise not included"
				}
				if included[i] != (tc.missing == "") || !strings.HasPrefix(note, want) ||
					!strings.Contains(note, tc.missing) {
					t.Errorf("included %v, %q, want %q because of %q", included[i], note, want, tc.missing)
				}
			}
		})
	}
}

func hybrid(t *testing.T) pvi.Strategy {
	t.Helper()
	p := pvi.Params{Shards: 1, Local: true, Steps: 5, LearningRate: 0.05, StatisticClip: 2}
	s, err := p.Strategy(pvi.NameHybrid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noisePlan is a plan of one round.
func noisePlan(t *testing.T, s pvi.Strategy, m bayes.Model,
	change func(*terms.Terms)) (app.Spec, protocol.BoundPlan) {
	t.Helper()
	c := rig.AppCases(t)["virtual"]
	learn := c.App.(*app.PVI)
	learn.Schema = rig.SchemaOf(t, 4, m != bayes.Linear)
	l := &learn.PVI
	l.Strategy = s
	l.Model = m
	l.Beta = 0
	l.FracBits = 20
	c.Rounds = 1
	switch s := s.(type) {
	case pvi.BCMSame, pvi.BCMSplit:
		l.Damping = 1
		l.DampingDecay = 0
		if _, ok := s.(pvi.BCMSplit); ok {
			learn.Weights = []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}
		}
	case pvi.Dataset:
		if s.Optimiser == pvi.Newton {
			l.StepBound, l.StepKept = 1, 1
			l.StartPrecision = 1
		}
	}
	switch m {
	case bayes.Linear:
		l.NoiseSD = 1
		if s.Params().Optimiser != pvi.Natural {
			l.Family = gauss.Full
		}
	case bayes.BNN:
		l.Hidden = 2
		l.Samples = 2
		l.PriorSpread = 0.1
	}
	noise := protocol.NoiseParty
	if s.Name().Local() {
		noise = protocol.NoiseLocal
	}
	return c.App, c.Plan(t, noise, change).Session
}

// noiseFile is the model file after a round that revealed zeros.
func noiseFile(t *testing.T, s pvi.Strategy, m bayes.Model) *result.ModelFile {
	t.Helper()
	a, bound := noisePlan(t, s, m, func(*terms.Terms) {})
	model := a.Model(bound.Plan)
	r := app.Revealed{Round: 1, Counted: bound.Plan.Parties(), Before: model.Initial(),
		Sum: make([]int64, bound.Plan.Dim)}
	state, err := model.Fold(r.Round, r.Before, r.Sum)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.NewModelFile(bound, state, []app.Revealed{r})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
