package app_test

import (
	"math"
	"slices"
	"testing"

	"choir/learn/evaluate"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// squaresAt is what the residual round of a case sums at the weights, and the number of shards.
func squaresAt(c rig.AppCase, weights []float64) (squares, shards int64) {
	l := c.App.(*app.PVI).PVI
	b := int64(math.Ldexp(l.Clip, int(l.FracBits)))
	limit := pvi.ResidualLimit * l.NoiseSD * l.NoiseSD
	for _, d := range c.Parts {
		for i, y := range d.Y {
			for j, w := range weights {
				y -= w * d.X[i*l.Features+j]
			}
			squares += int64(math.Round(float64(2*b)*min(1, y*y/limit))) - b/4
			shards++
		}
	}
	return squares, shards
}

// TestResidualsOfTheExported: the last round sums squares of residuals at the weights that the session
// exports, and the exported posterior has the noise that it measures.
func TestResidualsOfTheExported(t *testing.T) {
	c := rig.AppCases(t)["residual"]
	p := c.Plan(t, protocol.NoiseParty, func(*terms.Terms) {}).Session.Plan
	if !app.KeepsSums(p) {
		t.Fatal("parties don't keep the sums that tell the exported weights")
	}
	trace, state := folded(t, c, p)
	before, err := c.App.NoiseAware(p, trace[:3])
	if err != nil {
		t.Fatal(err)
	}
	squares, shards := squaresAt(c, before.Mean())
	if got := trace[3].Sum; got[0] != squares || got[1] <= 0 || got[1]%shards != 0 {
		t.Errorf("sum %v, want %d of %d shards", got, squares, shards)
	}
	plain, err := c.App.Posterior(p, state)
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := squaresAt(c, plain.Mean()); other == squares {
		t.Error("the residuals of the public posterior are the same: the comparison is empty")
	}
	q, err := c.App.NoiseAware(p, trace)
	if err != nil {
		t.Fatal(err)
	}
	if m := q.Measured(); m == nil || m.Assumed != 1 || q.Likelihood().NoiseSD == 1 ||
		before.Measured() != nil || !slices.Equal(q.Mean(), before.Mean()) {
		t.Errorf("measured %+v, noise %g", m, q.Likelihood().NoiseSD)
	}
}

// TestResidualsAndEvaluation: with an evaluation residuals are of the records that are learnt from, and the
// last scores are of the posterior with the measured noise.
func TestResidualsAndEvaluation(t *testing.T) {
	c := rig.AppCases(t)["residual"]
	e := &evaluate.Config{Every: 2, HeldOut: 0.3, Bins: 3, Low: -3, Records: 100, Seed: 7}
	c.App.(*app.PVI).Evaluation = e
	c.Rounds = e.Total(4)
	p := c.Plan(t, protocol.NoiseParty, func(*terms.Terms) {}).Session.Plan
	trace, _ := folded(t, c, p)
	if !e.At(6, 6) || !e.At(3, 6) || len(trace) != 6 {
		t.Fatalf("%d rounds", len(trace))
	}
	before, err := c.App.NoiseAware(p, trace[:4])
	if err != nil {
		t.Fatal(err)
	}
	learnt := c
	learnt.Parts = nil
	for _, d := range c.Parts {
		train, _ := e.Split(d)
		learnt.Parts = append(learnt.Parts, train)
	}
	if squares, _ := squaresAt(learnt, before.Mean()); trace[4].Sum[0] != squares {
		t.Errorf("sum %d, want %d", trace[4].Sum[0], squares)
	}
	q, err := c.App.NoiseAware(p, trace)
	if err != nil || q.Measured() == nil {
		t.Errorf("%v, %v", q, err)
	}
}
