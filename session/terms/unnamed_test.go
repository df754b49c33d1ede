package terms_test

import (
	"fmt"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestStrategiesWithoutSettings: a plan that names no more than model, strategy and family is
// complete, spends its budget, and shows every setting as a default.
func TestStrategiesWithoutSettings(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Binary("y", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("a", 0, 10), dataset.Standardised("b", -4, 4, 0, 1)}}
	lines := *schema
	lines.Target = dataset.Numeric("y", 0, 10)
	for name, rounds := range map[pvi.StrategyName]int{pvi.NameVirtual: 23, pvi.NameDataset: 19,
		pvi.NameAveraging: 5, pvi.NamePerturbation: 5, pvi.NameOptimisation: 23, pvi.NameBCMSame: 1,
		pvi.NameBCMSplit: 1, pvi.NameAnalytic: 1, pvi.NameHybrid: 20} {
		for _, m := range []bayes.Model{bayes.Logistic, bayes.Linear, bayes.BNN} {
			for _, family := range []gauss.Family{"", gauss.Full} {
				onlyLinear := name == pvi.NameAnalytic || name == pvi.NameHybrid || family == gauss.Full
				if onlyLinear && m != bayes.Linear {
					continue
				}
				steps := name == pvi.NameOptimisation || name == pvi.NameBCMSame || name == pvi.NameBCMSplit
				if testing.Short() && steps && m != bayes.Logistic { // costly to calibrate
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", name, m, family), func(t *testing.T) {
					of := schema
					if m == bayes.Linear {
						of = &lines
					}
					n := complete(t, terms.LearningConfig{Strategy: string(name), Model: string(m),
						Family: string(family)}, name, of)
					if m == bayes.Logistic && n != rounds {
						t.Errorf("%d rounds, want %d", n, rounds)
					}
				})
			}
		}
	}
}

// complete makes a plan of three parties and returns its rounds.
func complete(t *testing.T, l terms.LearningConfig, name pvi.StrategyName, schema *dataset.Schema) int {
	t.Helper()
	list, _ := rig.Members(t, 3, 3)
	ts := rig.Terms(list)
	ts.Noise, ts.Epsilon, ts.Delta, ts.Rounds = protocol.NoiseParty, 1, 1e-5, 0
	if name.Local() {
		ts.Noise = protocol.NoiseLocal
	}
	spec, n, err := l.Spec(ts, schema)
	if err != nil {
		t.Fatal(err)
	}
	ts.Rounds = n
	p, err := ts.Plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	b, ok, err := p.Spends(p.Releases())
	if err != nil || !ok || b.Epsilon > ts.Epsilon || b.Epsilon < 0.9*ts.Epsilon {
		t.Errorf("spends %v of %v (%v, %v)", b.Epsilon, ts.Epsilon, ok, err)
	}
	all, err := terms.Parameters(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Source == "named" && l.Family == "" {
			t.Errorf("%s is %s, which nobody named", s.Name, s.Value)
		}
	}
	if _, err := terms.Warnings(p); err != nil {
		t.Error(err)
	}
	return n
}

// TestResidualsOfParties: the last two rounds of Newton steps sum residuals where parties and budget tell
// their mean square, and as many as a plan names; they fit with named rounds, or the plan is refused.
func TestResidualsOfParties(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Standardised("y", -4, 4, 0, 1), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Standardised("b", -4, 4, 0, 1)}}
	for _, tc := range []struct {
		parties, rounds, named, want int
		epsilon                      float64
		refused                      bool
	}{
		{parties: 40, epsilon: 16, want: 2}, {parties: 40, epsilon: 1}, {parties: 40, epsilon: 16, named: -1},
		{parties: 40, epsilon: 16, rounds: 12, want: 2}, {parties: 40, epsilon: 16, rounds: 9},
		{parties: 3, epsilon: 1, named: 4, want: 4}, {parties: 40, epsilon: 16, rounds: 3, named: 3, refused: true},
	} {
		list, _ := rig.Members(t, tc.parties, 3)
		ts := rig.Terms(list)
		ts.Noise, ts.Epsilon, ts.Delta, ts.Rounds = protocol.NoiseParty, tc.epsilon, 1e-5, tc.rounds
		l := terms.LearningConfig{Strategy: string(pvi.NameDataset), Model: string(bayes.Linear),
			ResidualRounds: tc.named}
		spec, n, err := l.Spec(ts, schema)
		if err == nil {
			ts.Rounds = n
			_, err = ts.Plan(spec)
		}
		if tc.refused != (err != nil) {
			t.Fatalf("%+v: %v", tc, err)
		}
		if tc.refused {
			if !strings.Contains(err.Error(), "residual_rounds is 3") {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		c := spec.(*app.PVI).PVI
		if got := n - c.Learning(n); got != tc.want || tc.rounds > 0 && n != tc.rounds {
			t.Errorf("%+v: %d of %d rounds sum residuals", tc, got, n)
		}
	}
}
