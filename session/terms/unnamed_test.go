package terms_test

import (
	"fmt"
	"testing"

	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
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
		for _, m := range []pvi.Model{pvi.Logistic, pvi.Linear, pvi.BNN} {
			for _, family := range []gauss.Family{"", gauss.Full} {
				onlyLinear := name == pvi.NameAnalytic || name == pvi.NameHybrid || family == gauss.Full
				if onlyLinear && m != pvi.Linear {
					continue
				}
				steps := name == pvi.NameOptimisation || name == pvi.NameBCMSame || name == pvi.NameBCMSplit
				if testing.Short() && steps && m != pvi.Logistic { // costly to calibrate
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", name, m, family), func(t *testing.T) {
					of := schema
					if m == pvi.Linear {
						of = &lines
					}
					n := complete(t, terms.LearningConfig{Strategy: string(name), Model: string(m),
						Family: string(family)}, name, of)
					if m == pvi.Logistic && n != rounds {
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
