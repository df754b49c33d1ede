package collude

import (
	"testing"

	"choir/protocol"
)

// TestPastFindings: what was wrong once is found when it is built in again, and not without it. The bugs
// of the simulator are in its own package's test.
func TestPastFindings(t *testing.T) {
	for _, c := range []struct {
		name     string
		plant    plants
		scenario string
		noise    protocol.Placement
		with     Coalition
	}{
		{"fresh noise of a restored node", plants{freshNoise: true}, "restored", protocol.NoiseCompute,
			Coalition{Aggregator: true, Broker: true}},
		{"digests in clear", plants{clearDigests: true}, "guesses", protocol.NoiseParty, Coalition{Broker: true}},
		{"a bound for each coordinate", plants{perCoordinate: true}, "poison", protocol.NoiseParty,
			Coalition{Parties: 1}},
		{"noisy factors", plants{noisyFactors: true}, "noisy-factors", protocol.NoiseParty,
			Coalition{Aggregator: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.plant.noisyFactors && (testing.Short() || !full) {

				return
			}
			x := target(t, Target{Parties: 3, Nodes: 2, MinParties: 3, Rounds: 1, Noise: c.noise, Epsilon: 1,
				Delta: 1e-5})
			for _, planted := range []bool{false, true} {
				o := Options{Target: x, Runs: 1 << 12, Seed: 2, Scenarios: []string{c.scenario}, Coalition: c.with}
				want := Held
				if planted {
					o.Lab.plants, want = c.plant, Broke
				}
				r, err := o.Execute(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if v := r.Verdicts[0]; v.Verdict != want || planted && len(v.Story) == 0 {
					t.Errorf("planted %t: %s, want %s: %q", planted, v.Verdict, want, v.Story)
				}
				if v := r.Verdicts[1]; v.Verdict != Broke {
					t.Errorf("planted %t: the control: %s", planted, v.Verdict)
				}
			}
		})
	}
}
