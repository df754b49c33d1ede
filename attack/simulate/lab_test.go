//go:build !race

package simulate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"choir/attack/collude"
	"choir/attack/simulate"
	"choir/protocol"
)

// TestLabFindsPlantedBugs: each bug that is built into the roles breaks the lab's attack that looks for
// it, and its control breaks with and without the bug.
func TestLabFindsPlantedBugs(t *testing.T) {
	bugs := simulate.Planted()
	if len(bugs) < 19 {
		t.Fatalf("only %d bugs", len(bugs))
	}
	target, err := collude.NewTarget(collude.Target{Parties: 3, Nodes: 2, MinParties: 3, Rounds: 1,
		Noise: protocol.NoiseParty, Epsilon: 1, Delta: 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, scenario string) collude.Outcome {
		r, err := collude.Options{Target: target, Runs: 64, Seed: 1, Scenarios: []string{scenario},
			Coalition: collude.Coalition{Aggregator: true, Broker: true}}.Execute(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !r.Verdicts[1].Control || r.Verdicts[1].Verdict != collude.Broke {
			t.Errorf("the control: %+v", r.Verdicts[1])
		}
		return r.Verdicts[0]
	}
	for _, scenario := range []string{"faults", "lies"} {
		if testing.Short() {
			break // a test of package collude runs all attacks
		}
		if v := run(t, scenario); v.Verdict != collude.Held {
			t.Errorf("%s without a bug: %+v", scenario, v)
		}
	}
	names := slices.Sorted(maps.Keys(bugs))
	if testing.Short() {
		names = names[:3]
	}
	for _, name := range names {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			simulate.Plant(t, name)
			if v := run(t, bugs[name]); v.Verdict != collude.Broke || len(v.Story) < 2 {
				t.Errorf("not found: %+v", v)
			}
		})
	}
}
