package app_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"choir/host"
	"choir/learn/evaluate"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/run"
	"choir/session/terms"
)

// clipOf is the clip of a case, in units of its grid.
func clipOf(c rig.AppCase) int64 {
	l := c.App.(*app.PVI).PVI
	return int64(math.Ldexp(l.Clip, int(l.FracBits)))
}

// squaresAt is what the residual round of a case sums at the weights, and the number of shards.
func squaresAt(c rig.AppCase, weights []float64) (squares, shards int64) {
	l := c.App.(*app.PVI).PVI
	b := clipOf(c)
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

// TestResidualsOfTheExported: the last round sums squares of residuals at the weights that the session has
// fitted, and the exported posterior has the noise that it measures.
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
	squares, shards := squaresAt(c, before.Fitted())
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
	if squares, _ := squaresAt(learnt, before.Fitted()); trace[4].Sum[0] != squares {
		t.Errorf("sum %d, want %d", trace[4].Sum[0], squares)
	}
	q, err := c.App.NoiseAware(p, trace)
	if err != nil || q.Measured() == nil {
		t.Errorf("%v, %v", q, err)
	}
}

// silent is a party that answers nothing in one round: the round ends without it, or does not end.
type silent struct {
	protocol.Proposer
	round uint32
}

func (s silent) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	if w.Round == s.round {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	return s.Proposer.Propose(ctx, w)
}

// revealedWithout is what the transcript of a session reveals in which these parties are silent in a round,
// and how the session ends.
func revealedWithout(t *testing.T, c rig.AppCase, round uint32, absent ...uint32) (*protocol.Plan,
	[]app.Revealed, error) {
	t.Helper()
	l := c.Plan(t, protocol.NoiseParty, func(ts *terms.Terms) {
		ts.Epsilon, ts.Dropouts = 20_000, 1
		// A round waits so long for those who are silent, and the next ones for their return.
		ts.Deadline, ts.Grace = 4*time.Second, 4*time.Second
	})
	l.GiveUp = 6 * time.Second
	proposer := l.Proposer
	l.Proposer = func(i uint32) protocol.Proposer {
		if slices.Contains(absent, i) {
			return silent{proposer(i), round}
		}
		return proposer(i)
	}
	agg := host.NewRam()
	l.Store = func(i uint32) (host.Store, error) {
		if i == l.Session.Plan.Aggregator() {
			return agg, nil
		}
		return host.NewRam(), nil
	}
	_, err := l.Run(t.Context())
	trace, broken := result.Trace(l.Session, run.Transcript(agg))
	if broken != nil {
		t.Fatal(broken)
	}
	return l.Session.Plan, trace, err
}

// TestResidualsOfThoseWhoAnswer: the residual round of a session counts the records of the parties that
// answer, at the weights that all parties know, also one that misses a round before. If too few answer, the
// noise is the plan's. The bounds are 6 standard deviations of the noise: four normal numbers are beyond them
// in 8 of 10^9 runs.
func TestResidualsOfThoseWhoAnswer(t *testing.T) {
	for name, round := range map[string]uint32{"in the residual round": 4, "before": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rig.AppCases(t)["residual"]
			p, trace, err := revealedWithout(t, c, round, 1)
			if err != nil || len(trace) != 4 {
				t.Fatalf("%d rounds, %v", len(trace), err)
			}
			before, err := c.App.NoiseAware(p, trace[:3])
			if err != nil {
				t.Fatal(err)
			}
			answered := c
			answered.Parts = nil
			for _, k := range trace[3].Set {
				answered.Parts = append(answered.Parts, c.Parts[k])
			}
			if !slices.Equal(trace[round-1].Set, []int{0, 2}) || len(trace[3].Set) != 3 && round != 4 {
				t.Fatalf("round %d of %v, the residual round of %v", round, trace[round-1].Set, trace[3].Set)
			}
			squares, shards := squaresAt(answered, before.Mean())
			b, sd := clipOf(c), math.Sqrt(float64(p.Variance)*float64(len(trace[3].Set)))
			for i, want := range []int64{squares, shards * (b - b/8)} {
				if off := float64(trace[3].Sum[i] - want); math.Abs(off) > 6*sd {
					t.Errorf("number %d is %d, want %d +- %.0f", i, trace[3].Sum[i], want, sd)
				}
			}
			if plain, err := c.App.Posterior(p, trace[3].Before); err != nil {
				t.Error(err)
			} else if other, _ := squaresAt(answered, plain.Mean()); math.Abs(float64(other-squares)) < 12*sd {
				t.Error("the residuals of the public posterior are nearly the same: the comparison is weak")
			}
			q, err := c.App.NoiseAware(p, trace)
			if err != nil || q.Measured() == nil || before.Measured() != nil {
				t.Errorf("%+v before the round, %+v after it, %v", before, q, err)
			}
		})
	}
	t.Run("of too few", func(t *testing.T) {
		t.Parallel()
		c := rig.AppCases(t)["residual"]
		p, trace, err := revealedWithout(t, c, 4, 0, 1)
		if protocol.ClassOf(err) != protocol.ClassQuorum || len(trace) != 3 {
			t.Fatalf("%d rounds, %v", len(trace), err)
		}
		q, err := c.App.NoiseAware(p, trace)
		if err != nil || q.Measured() != nil || q.Likelihood().NoiseSD != 1 {
			t.Errorf("%+v, %v", q, err)
		}
	})
}
