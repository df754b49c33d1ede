package collude

import "context"

// differences subtracts the totals of two rounds, in the second of which the victim is left out.
type differences struct{}

// Info implements Attack.
func (differences) Info() Info {
	return Info{ID: "differences", Kind: "leak",
		What: "the difference of two rounds' totals, of which the victim was left out in the second, against the " +
			"claim for one round: it needs no knowledge of the others if they contribute the same twice",
		Needs:   "a member that learns the sums; the broker or a compute node to leave the victim out",
		Promise: promiseRecords, Expected: Held,
		Control: "two rounds without noise, which a plan has to allow by unsafe_differences"}
}

// Run implements Attack.
func (differences) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	t, name := r.Target, "differences"
	switch {
	case control && t.Parties < 3: // a sum of one party is never revealed
		return measureSums(ctx, r, c, thinned{}, true)
	case control:
		t, name, c.Aggregator = t.bare(), "differences without noise", true
		t.MinParties = t.Parties - 1
	case t.MinParties == t.Parties: // no party can be left out
		return nothingSeen(Outcome{Coalition: c.String(), Unit: "epsilon"}), nil
	}
	t.Rounds = 2
	promised := r.Target
	promised.Rounds, promised.Spares = 1, 0 // the victim takes part in one
	out := Outcome{Coalition: c.String(), Unit: "epsilon", Verdict: Undecided}
	p := prepared{sums: r.newSums(t, name)}
	p.group = p.largest(r.Runs)
	if p.group > 1 {
		p.group *= 2 // two rounds' noise
	}
	rec, err := r.record(ctx, name, t, r.Runs, staging{leaveOut: 2, deadline: thinDeadline}, p.inputs)
	if err != nil {
		return out, err
	}
	if p.view, err = rec.view(c, p.known); err != nil {
		return out, err
	}
	if p.claim, err = promised.claim(c, t.Parties); control {
		p.claim = r.Target.budget()
	}
	out.Claimed = wide(p.claim)
	with, ok := p.view.less(1)
	without, both := p.view.less(2)
	if err != nil || !ok || !both {
		return nothingSeen(out), err
	}
	scores, between := make([]float64, len(with)), make([]float64, len(with))
	for j := range scores {
		between[j] = float64(with[j] - without[j])
		scores[j] = p.t.logRatio(between[j], 2*float64(p.t.Variance)*float64(p.t.hidden(c, t.Parties)))
	}
	p.t.Rounds, p.seen = 1, func(int) ([]float64, bool) { return between, true }
	return p.judge(out, r, scores, gaussian, control)
}
