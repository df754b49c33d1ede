package result_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// TestCoefficientsOfEveryApp: before a session the coefficients are the prior, and after
// it they are not. Whether the noise is in the intervals depends on the application, and
// there is none before the first round.
func TestCoefficientsOfEveryApp(t *testing.T) {
	for name, c := range rig.AppCases(t) {
		t.Run(name, func(t *testing.T) {
			private := c.Plan(t, c.Noise, func(*terms.Terms) {}).Session
			got := coefficients(t, private, c.App.Model(private.Plan).Initial())
			if got.PrivacyNoiseIncluded || !got.PriorCompared {
				t.Errorf("%+v", got)
			}
			counts := name == "statistics" || strings.Contains(name, "mcmc")
			checkIncluded(t, private, c.App.Model(private.Plan), counts)
			for _, k := range got.Coefficients {
				if !k.PriorOnly && !strings.Contains(name, "global") { // which starts elsewhere
					t.Errorf("before the session: %+v", k)
				}
			}
			open := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session
			got = coefficients(t, open, c.Plainly(t, open.Plan))
			if got.PrivacyNoiseIncluded || !strings.HasPrefix(got.NoiseNote,
				"the session added no privacy noise") {
				t.Errorf("%+v", got)
			}
			for _, k := range got.Coefficients {
				if k.PriorOnly && name == "statistics" { // the others take more rounds
					t.Errorf("after the session: %+v", k)
				}
			}
		})
	}
}

// checkIncluded: after a round the model file says whether its posterior counts the noise.
func checkIncluded(t *testing.T, s protocol.BoundPlan, m protocol.Model, want bool) {
	t.Helper()
	r := app.Revealed{Round: s.Plan.Rounds, Counted: s.Plan.Parties(), Before: m.Initial(),
		Sum: make([]int64, s.Plan.Dim)}
	state, err := m.Fold(r.Round, r.Before, r.Sum)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.NewModelFile(s, state, []app.Revealed{r})
	if err != nil || f.NoiseIncluded != want || (f.Noise == "privacy noise included") != want {
		t.Errorf("included %v, %q, want %v; %v", f.NoiseIncluded, f.Noise, want, err)
	}
}

// coefficients writes a session's folder and reads it.
func coefficients(t *testing.T, s protocol.BoundPlan, state []int64) *result.Coefficients {
	t.Helper()
	f, err := result.NewModelFile(s, state, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := (&protocol.SignedPlan{Plan: s.Plan}).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, "transcript", result.PlanFile), text); err != nil {
		t.Fatal(err)
	}
	c, err := result.FolderCoefficients(dir, .95)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFolderWithoutPlan: the arrays are enough, without a comparison with the prior.
func TestFolderWithoutPlan(t *testing.T) {
	c := rig.AppCases(t)["virtual"]
	s := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {}).Session
	f, err := result.NewModelFile(s, c.App.Model(s.Plan).Initial(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "model.json")); err != nil {
		t.Fatal(err)
	}
	got, err := result.FolderCoefficients(dir, .5)
	if err != nil || got.PriorCompared || len(got.Coefficients) != 4 || f.Application != app.NamePVI {
		t.Errorf("%+v, %v", got, err)
	}
}
