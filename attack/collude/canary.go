package collude

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"choir/privacy"
)

// canaries audits one session with many records, each there or not by a coin [SNJ23].
type canaries struct{}

// canaryAlpha is the audit's level.
const canaryAlpha = 1e-3

// canaryPlan is how many canaries an audit has, and which part of them, one of this number, is guessed.
type canaryPlan struct{ canaries, part int }

// planned chooses what shows most, in expectation, where a claim is exact: of more canaries clearer ones are
// guessed, until the term for delta outweighs that. It returns what that is. It depends on public numbers.
func planned(claim, delta float64, most int) (best canaryPlan, shown float64) {
	best = canaryPlan{min(most, 4096), 4}
	if claim <= 0 || math.IsInf(claim, 1) {
		return best, 0
	}
	lo, hi := 0.0, float64(mostMu)
	for hi-lo > 1e-3 {
		if mid := (lo + hi) / 2; privacy.GaussianEpsilon(mid, delta) < claim {
			lo = mid
		} else {
			hi = mid
		}
	}
	for _, n := range []int{1024, 4096, 16384, most} {
		n = min(n, most)
		scores, bits := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i] = lo/2 + distuv.UnitNormal.Quantile((float64(i)+0.5)/float64(n))
			bits[i] = true
		}
		for _, part := range []int{2, 4, 16, 64} {
			right, guessed := guess(scores, bits, part)
			if e := oneRun(n, guessed, right, delta); e > shown {
				best, shown = canaryPlan{n, part}, e
			}
		}
	}
	return best, shown
}

// Info implements Attack.
func (canaries) Info() Info {
	return Info{ID: "canaries", Kind: "leak",
		What: "one session with thousands of records that a coin puts in or leaves out: how many of the coins " +
			"the coalition guesses bounds epsilon from below",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise"}
}

// Run implements Attack.
func (canaries) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	p, out, err := r.prepare(ctx, c, thinned{}, control)
	if err != nil {
		return out, err
	}
	scores, ok := p.scores(p.view)
	if !ok {
		return nothingSeen(out), nil
	}
	scores, bits := p.ones(scores, len(scores))
	plan, shown := planned(p.claim, p.t.Delta, len(scores))
	scores, bits = scores[:plan.canaries], bits[:plan.canaries]
	m := len(scores)
	right, guessed := guess(scores, bits, plan.part)
	if control { // the budget, or half of the most that so few canaries can show
		p.claim = min(p.claim, oneRun(m, guessed, guessed, p.t.Delta)/2)
		out.Claimed = &p.claim
	}
	e := oneRun(m, guessed, right, p.t.Delta)
	out.Measured = &e
	out.Verdict = atMost(e, p.claim, control || r.Target.tolerated(c))
	out.Story = []string{fmt.Sprintf("%d canaries; the coalition guessed the %d clearest, %d of them right",
		m, guessed, right)}
	if !control && shown > 0 {
		out.Story = append(out.Story, fmt.Sprintf("an audit in one session shows about %.3g where the claim, "+
			"%.3g, is exact; epsilon, which repeats the session, has no such limit", shown, p.claim))
		out.Reason = out.Story[1]
	}
	return out, nil
}

// guess guesses the coins of one part of the canaries, those whose scores are farthest from 0.
func guess(scores []float64, bits []bool, part int) (right, guessed int) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return int(math.Copysign(1, math.Abs(scores[b])-math.Abs(scores[a])))
	})
	guessed = max(1, len(order)/part)
	for _, i := range order[:guessed] {
		if (scores[i] > 0) == bits[i] {
			right++
		}
	}
	return right, guessed
}

// oneRun is the largest epsilon, to 1e-3, that a number of right guesses among guessed ones of m
// canaries refute at the audit's level: [SNJ23, Theorem 5.2].
func oneRun(m, guessed, right int, delta float64) float64 {
	refuted := func(e float64) bool { return oneRunP(m, guessed, right, e, delta) < canaryAlpha }
	lo, hi := 0.0, 20.0
	if !refuted(0) {
		return 0
	}
	for hi-lo > 1e-3 {
		if mid := (lo + hi) / 2; refuted(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// oneRunP bounds the probability of a number of right guesses by an (epsilon, delta)-private session.
func oneRunP(m, guessed, right int, epsilon, delta float64) float64 {
	q := 1 / (1 + math.Exp(-epsilon))
	tail := func(v int) float64 { // P(binomial >= v)
		switch {
		case v <= 0:
			return 1
		case v > guessed:
			return 0
		}
		return mathext.RegIncBeta(float64(v), float64(guessed-v+1), q)
	}
	at, alpha := tail(right), 0.0
	for i := 1; i <= right; i++ {
		before := tail(right - i)
		alpha = math.Max(alpha, (before-at)/float64(i))
		if before > 1-1e-9 {
			alpha = math.Max(alpha, (1-at)/float64(i+1)) // no later quotient is larger
			break
		}
	}
	return math.Min(1, at+2*float64(m)*delta*alpha)
}
