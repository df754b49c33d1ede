package collude

import (
	"slices"
	"testing"

	"choir/learn/response"
	"choir/privacy"
	"choir/protocol"
)

// TestReports measures epsilon of five sites of three records over both back ends: what a coalition that is
// tolerated shows lies between four fifths and all of the claim, without the shuffle a report shows more, and
// a party of a mix-net shows nothing.
func TestReports(t *testing.T) {
	noise, err := response.NewNoise(16, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, records := range map[string]uint32{"sum": 0, "mix-net": 3, "noise": 3} {
		t.Run(name, func(t *testing.T) {
			share, limit := 0.8, 0.97
			target := Target{Name: name, Parties: 5, Nodes: 2, MinParties: 5, Rounds: 1, Noise: protocol.NoiseShuffle,
				Delta: 0.01, Relation: privacy.ReplaceOne, Dim: 1, Steps: 1, Reports: &protocol.Reports{Records: 3,
					Columns: 1, Categories: 3, Gamma: privacy.GammaUnit / 2, MixRecords: records}}
			if name == "noise" {
				target.Reports.Categories, target.Reports.Gamma, target.Reports.Keep = 16, 0, noise.Keep
				target.Noisy, limit = &noise, 3
			}
			o := Options{Target: target, Runs: 20_000,
				Scenarios: []string{"reports"}, Coalition: Coalition{Parties: 1, Aggregator: true}}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			r, err := o.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Verdicts) != 2 {
				t.Fatalf("verdicts %+v", r.Verdicts)
			}
			held, control := r.Verdicts[slices.IndexFunc(r.Verdicts, func(o Outcome) bool { return !o.Control })],
				r.Verdicts[slices.IndexFunc(r.Verdicts, func(o Outcome) bool { return o.Control })]
			if held.Verdict != Held || *held.Measured < share**held.Claimed || *held.Claimed > limit {
				t.Errorf("%s: measured %v of %v", held.Verdict, *held.Measured, *held.Claimed)
			}
			if control.Verdict != Broke {
				t.Errorf("the control: %s, measured %v", control.Verdict, *control.Measured)
			}
			o.Coalition = Coalition{Parties: 1}
			r, err = o.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if blind := *r.Verdicts[0].Claimed == 0 || *r.Verdicts[1].Claimed == 0; blind != (records > 0) {
				t.Errorf("a party alone: %+v", r.Verdicts)
			}
		})
	}
}
