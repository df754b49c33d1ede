package collude

import (
	"context"
	"fmt"
	"time"
)

// thinDeadline is a round's deadline in a session in which parties are missing.
const thinDeadline = 2 * time.Second

// way is how an attack keeps parties out of the set.
type way string

const (
	withheld way = "withheld" // the broker loses what they contribute
	unlisted way = "unlisted" // a compute node of the coalition leaves them out of its list
	late     way = "late"     // the broker holds it back until the nodes have sent their lists
)

// thinned is sets without the parties 1 to a number of them.
type thinned struct {
	way     way
	parties int
}

func (t thinned) staging() staging {
	s := staging{deadline: thinDeadline}
	switch {
	case t.parties == 0:
		return staging{}
	case t.way == late:
		s.late = t.parties
	case t.way == unlisted:
		s.hears = func(r *record, member uint32, data []byte) bool {
			party, _ := r.contributes(data)
			return member != r.session.Plan.Compute(0) || party < 1 || int(party) > t.parties
		}
	default:
		s.absent = t.parties
	}
	return s
}

// isolation thins the victim's set as far as the nodes reveal it, and further.
type isolation struct{ way way }

// Info implements Attack.
func (a isolation) Info() Info {
	i := Info{ID: "isolation", Kind: "leak",
		What: "isolation of the victim: the broker withholds others' contributions until the set is " +
			"N_min, and epsilon is measured on that; then one more, and nothing must be revealed",
		Needs:   "a member that learns the sums; the broker",
		Promise: promiseRecords, Expected: Held,
		Control: "the same without noise, in a plan that reveals a sum of two parties"}
	switch a.way {
	case unlisted:
		i.ID, i.Needs = "lists", "a member that learns the sums; a compute node"
		i.What = "isolation of the victim by lists: a compute node leaves others out of its list until the set " +
			"is N_min, and epsilon is measured on that; then one more, and nothing must be revealed"
	case late:
		i.ID = "delays"
		i.What = "isolation of the victim by delays: the broker holds back the contributions of others until the " +
			"nodes have sent their lists, and epsilon is measured on a set of N_min; then those of one more, and " +
			"nothing must be revealed"
	}
	return i
}

// Run implements Attack.
func (a isolation) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if a.way == unlisted {
		if c.Nodes == 0 && !control {
			return nothingSeen(Outcome{Coalition: c.String(), Unit: "epsilon"}), nil
		}
		c.Nodes = max(1, c.Nodes)
	} else {
		c.Broker = true
	}
	// The coalition's own parties stay, or it would have fewer noises to subtract.
	by := thinned{a.way, min(r.Target.Parties-r.Target.MinParties, r.Target.Parties-1-c.Parties)}
	if control {
		by.parties = max(0, r.Target.Parties-2)
	}
	out, err := measureSums(ctx, r, c, by, control)
	if err != nil || out.Verdict == Undecided {
		return out, err
	}
	out.Story = append(out.Story, fmt.Sprintf("a set of %d of %d parties", r.Target.Parties-by.parties,
		r.Target.Parties))
	if control || r.Target.MinParties < 2 {
		return out, nil
	}
	by.parties = r.Target.Parties - r.Target.MinParties + 1
	n, end, err := r.below(ctx, c, by)
	if err != nil {
		return out, err
	}
	out.Story = append(out.Story, fmt.Sprintf("of a set of %d parties, one fewer than N_min, the view "+
		"determines %d combinations of honest contributions", r.Target.MinParties-1, n), end)
	if n > 0 && c.Nodes < r.Target.Nodes {
		out.Verdict = Broke
	}
	return out, nil
}

// below runs a session whose set is smaller than N_min, and returns how many combinations of honest
// contributions the coalition's view determines and how the session ended.
func (r *Run) below(ctx context.Context, c Coalition, by thinned) (n int, end string, err error) {
	t := r.Target
	t.Rounds = 1
	s := by.staging()
	s.giveUp, s.deadline = patience/2, patience/4
	rec, err := r.record(ctx, fmt.Sprint("below ", by), t, restoredDim, s,
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
	if err != nil {
		return 0, "", err
	}
	v, err := rec.view(c, nil)
	if err != nil {
		return 0, "", err
	}
	return v.rank(1), ended(rec), nil
}
