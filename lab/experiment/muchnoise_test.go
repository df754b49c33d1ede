package experiment

import (
	"strings"
	"testing"

	"choir/learn/bayes"
)

// TestReferencesOfMuchNoise: a session whose noise a party alone can't have keeps its result and the other
// references, and a warning tells which one is missing. What its noise will hide is told before the first
// round.
func TestReferencesOfMuchNoise(t *testing.T) {
	d := Demo{Parties: 20, Computes: 2, Epsilon: 0.0125, Delta: 1e-5, Model: bayes.Logistic, InMemory: true,
		Data: Source{Rows: 1200, Seed: 3, Train: 0.8}}
	var before []string
	d.Progress = func(p Progress) {
		switch {
		case p.Phase == "warning":
			before = append(before, p.Name)
		case len(before) == 0 && p.Phase == "round":
			t.Error("a round before the warnings")
		}
	}
	r, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(before) == 0 || !strings.Contains(before[0], "may drown") {
		t.Errorf("warnings before the session: %q", before)
	}
	if r.References.BestSinglePartyPrivate != (Scores{}) || r.References.NonPrivate == (Scores{}) {
		t.Errorf("references %+v", r.References)
	}
	last := r.Warnings[len(r.Warnings)-1]
	if !strings.Contains(last, "no reference of single parties with privacy") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if strings.Contains(r.Verdict, "privacy") && strings.Contains(r.Verdict, "0.000") {
		t.Errorf("verdict by a reference that is missing: %q", r.Verdict)
	}
}
