package experiment

import (
	"encoding/json"
	"testing"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
)

// TestFullNoiseBeyondOneDraw: noise that a single draw of the sampler cannot have is the sum of several, and
// keeps the budget.
func TestFullNoiseBeyondOneDraw(t *testing.T) {
	for _, c := range []struct {
		sensitivity uint64
		several     bool
	}{{1 << 20, false}, {1 << 27, true}} {
		p := &protocol.Plan{Epsilon: 0.5, Delta: 1e-5, Sensitivity: c.sensitivity, Dim: 4, Rounds: 200,
			Relation: uint8(privacy.ReplaceOne)}
		full, variance, err := reference{plan: p}.fullNoise()
		if err != nil {
			t.Fatal(err)
		}
		if several := full.draws > 1; several != c.several {
			t.Errorf("sensitivity %d: %d draws", c.sensitivity, full.draws)
		}
		// A Gaussian at (0.5, 1e-5) has 7.03 sensitivities a release, by the analytic mechanism [BW18].
		want := 7.03 * 7.03 * 200 * float64(c.sensitivity) * float64(c.sensitivity)
		if variance < 0.99*want || variance > 1.02*want {
			t.Errorf("sensitivity %d: variance %g, want %g", c.sensitivity, variance, want)
		}
	}
}

// TestReferencesOfRanges: where a plan measures in which frame it learns, the fit without privacy is in its
// own, too. In encoded columns of which ranges are 30 times as wide as usual it would predict .05 worse, and
// a session would seem to be better than no privacy at all.
func TestReferencesOfRanges(t *testing.T) {
	made, err := dataset.RangedGenerator{Rows: 4000, Features: 6, Correlation: 0.2, Wider: 30,
		Seed: 5}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Source{Records: made.Records, Schema: made.Schema, Seed: 3, Parties: 4, Train: 0.8}.Load()
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := made.Schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	fit := func(measuring int) float64 {
		c := pvi.Config{Model: pvi.Logistic, Family: gauss.MeanField, Features: made.Schema.Dim(),
			PriorPrecision: 1, Clip: 1, Strategy: pvi.Virtual{Shards: 10}}
		r := reference{data: d, app: &app.PVI{Version: 1, PVI: c, Schema: json.RawMessage(canonical),
			CentreRounds: measuring}, plan: &protocol.Plan{}}
		s, err := r.nonPrivate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.LogLikelihood
	}
	if framed, encoded := fit(3), fit(0); framed < encoded+0.05 {
		t.Errorf("log-likelihood %.4f in the rows' own frame, %.4f in encoded columns", framed, encoded)
	}
}
