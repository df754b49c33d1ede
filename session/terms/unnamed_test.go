package terms_test

import (
	"testing"

	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestStrategiesWithoutSettings: a plan that names no more than a strategy for logistic
// regression is complete.
func TestStrategiesWithoutSettings(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Binary("y", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("a", 0, 10), dataset.Standardised("b", -4, 4, 0, 1)}}
	for name, rounds := range map[pvi.StrategyName]int{pvi.NameVirtual: 22, pvi.NameDataset: 16,
		pvi.NameAveraging: 5, pvi.NamePerturbation: 5, pvi.NameOptimisation: 20, pvi.NameBCMSame: 1,
		pvi.NameBCMSplit: 1} {
		t.Run(string(name), func(t *testing.T) {
			list, _ := rig.Members(t, 3, 3)
			ts := rig.Terms(list)
			ts.Noise, ts.Epsilon, ts.Delta, ts.Rounds = protocol.NoiseParty, 1, 1e-5, 0
			if name.Local() {
				ts.Noise = protocol.NoiseLocal
			}
			spec, n, err := terms.LearningConfig{Strategy: string(name)}.Spec(ts, schema)
			if err != nil {
				t.Fatal(err)
			}
			if n != rounds {
				t.Errorf("%d rounds, want %d", n, rounds)
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
			if _, err := terms.Parameters(p); err != nil {
				t.Error(err)
			}
		})
	}
}
