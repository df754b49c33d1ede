package bed

import (
	"slices"
	"testing"

	"choir/lab/study"
)

// TestNATSGivesWhatMemoryGives: with the same seed a study's session has the same shares,
// the same noise and the same figures over a real broker as in memory, whatever the order in which
// messages arrive.
func TestNATSGivesWhatMemoryGives(t *testing.T) {
	schema, parts := data(t, 4)
	app := virtual(schema, 4)
	var first []int64
	for _, over := range []study.Transport{study.Memory, study.NATS} {
		o, err := Run{Name: "transports", Seed: 5, App: app, Parts: parts, Rounds: 3, Epsilon: 1,
			Delta: 1e-5, Transport: over, Dir: t.TempDir()}.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = o.State
		}
		if !slices.Equal(o.State, first) || !(o.Spent.Epsilon > 0.99 && o.Spent.Epsilon <= 1) {
			t.Errorf("over %s the state is %v, not %v; spent %+v", over, o.State[:3], first[:3], o.Spent)
		}
	}
}
