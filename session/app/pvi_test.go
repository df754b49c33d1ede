package app_test

import (
	"slices"
	"testing"

	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
)

// TestPairsLearnTheSame: two coordinates in an element change no integer of what is learnt, and
// no number of a private plan's claim.
func TestPairsLearnTheSame(t *testing.T) {
	c := rig.LearningCases()["logistic"]
	c.Config.Clip = 0.1
	plan := func(paired bool, noise protocol.Placement, epsilon, delta float64) (*run.Local, []*pvi.Learner) {
		return rig.LearningPlanOf(t, c, func(ts *terms.Terms) {
			ts.Rounds, ts.Paired, ts.Noise, ts.Epsilon, ts.Delta = 4, paired, noise, epsilon, delta
		})
	}
	l, learners := plan(true, protocol.NoiseNone, 0, 0)
	secure, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := pvi.Run(t.Context(), c.Config, learners, nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(secure.Model, plain.Final()) || slices.Equal(plain.Final(), c.Config.Initial()) {
		t.Errorf("secure %v\nplain  %v", secure.Model, plain.Final())
	}
	pairs, _ := plan(true, protocol.NoiseParty, 1, 1e-5)
	single, _ := plan(false, protocol.NoiseParty, 1, 1e-5)
	with, without := *pairs.Session.Plan, *single.Session.Plan
	if with.Variance == 0 || with.Variance != without.Variance || with.Sensitivity != without.Sensitivity ||
		with.Elements() != (int(with.Dim)+1)/2 {
		t.Errorf("%+v\n%+v", with, without)
	}
	cost, whole := uploads(t, &with), uploads(t, &without)
	if saved := whole - cost; saved != 8*(int(with.Dim)/2) {
		t.Errorf("pairs save %d bytes of %d", saved, whole)
	}
	if report, err := pairs.Run(t.Context()); err != nil || slices.Equal(report.Model, secure.Model) {
		t.Errorf("a private session of pairs: %v", err)
	}
}

// TestSecureEqualsPlain: with the noise off, the secure session ends in the
// very integers of a plain in-memory run, for both models, in memory and over
// NATS; the posterior is then equal on the grid.
func TestSecureEqualsPlain(t *testing.T) {
	const rounds = 4
	ran := 0
	for name, c := range rig.LearningCases() {
		for _, bus := range []string{"memory", "nats"} {
			t.Run(name+"/"+bus, func(t *testing.T) {
				l, learners := rig.LearningPlan(t, c, protocol.NoiseNone, rounds)
				if bus == "nats" {
					rig.OverNATS(t, l)
				}
				secure, err := l.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				plain, err := pvi.Run(t.Context(), c.Config, learners, nil, rounds)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Equal(plain.Final(), c.Config.Initial()) {
					t.Fatal("the plain run learnt nothing: the comparison would be empty")
				}
				if !slices.Equal(secure.Model, plain.Final()) {
					t.Errorf("secure %v\nplain  %v", secure.Model, plain.Final())
				}
			})
			ran++
		}
	}
	if ran != 4 {
		t.Fatalf("%d cases ran, not 4", ran)
	}
}

// uploads is the number of bytes that a party publishes in a round of the plan.
func uploads(t *testing.T, p *protocol.Plan) int {
	t.Helper()
	s, err := terms.Summarise(&protocol.SignedPlan{Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	return s.Cost.UploadPerParty
}
