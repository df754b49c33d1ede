package collude

import (
	"context"
	"fmt"
	"runtime"

	"choir/attack/simulate"
)

// faults lets a broker lose, repeat, delay, reorder and forge messages, and members crash.
type faults struct{}

// A run simulates batches of sessions until one of them goes wrong.
const (
	faultyBatches  = 4
	faultySessions = 70 // of a batch: ten of each profile of faults
)

// Info implements Attack.
func (faults) Info() Info {
	return Info{ID: "faults", Kind: "break",
		What: "simulated sessions of honest members under a broker that loses, repeats, delays, reorders and " +
			"forges messages, with crashes and restarts, half of them of this plan's numbers of members, N_min and " +
			"noise: an oracle that knows every secret checks what is revealed, charged, signed and computed",
		Needs: "the broker", Promise: promiseUpdates, Expected: Held,
		Control: "a cheat of the table whose member the oracle takes for honest"}
}

// Run implements Attack.
func (faults) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	c.Broker = true
	none := 0.0
	out := Outcome{Coalition: c.String(), Unit: "sessions that went wrong", Claimed: &none, Verdict: Undecided}
	if control {
		return r.blamed(out)
	}
	t, sessions, steps, wrong := r.Target, 0, int64(0), 0.0
	out.Measured = &wrong
	for k := 0; k < faultyBatches && wrong == 0 && (k == 0 || !r.late()); k++ {
		var h simulate.Shape
		if k%2 == 0 {
			h = simulate.Shape{Parties: t.Parties, Computes: t.Nodes, MinParties: t.MinParties, Noise: t.Noise}
		}
		report, err := simulate.Batch{From: r.Seed + uint64(k*faultySessions), Seeds: faultySessions,
			Profile: simulate.AllProfiles, Shape: h, Workers: runtime.GOMAXPROCS(0)}.Run(ctx)
		if err != nil {
			return out, err
		}
		sessions, steps, wrong = sessions+report.Seeds, steps+report.Steps, float64(report.Violations)
		for _, f := range report.Failed {
			out.Story = append(out.Story, fmt.Sprintf("seed %d, faults %s: %s", f.Seed, f.Profile, f.Violation))
			out.Repeat = append(out.Repeat, tellAgain(f, h))
		}
		if report.Interrupted && wrong == 0 {
			return out, ctx.Err()
		}
	}
	out.Verdict = atMost(wrong, 0, true)
	out.Story = append(out.Story, fmt.Sprintf("%d sessions, %d steps of members", sessions, steps),
		fmt.Sprintf("every other batch of %d has %d parties, N_min = %d, %d compute nodes and %s noise",
			faultySessions, t.Parties, max(2, t.MinParties), t.Nodes, t.Noise),
		"the others draw theirs; a simulated session has its own budget and rounds, and local noise is part of "+
			"its updates")
	return out, nil
}

// tellAgain is the command that tells a failed session.
func tellAgain(f simulate.Failure, h simulate.Shape) string {
	s := fmt.Sprintf("choir attack story --seed %d --faults %s", f.Seed, f.Profile)
	if h.Parties == 0 {
		return s
	}
	return s + fmt.Sprintf(" --parties %d --nodes %d --dropouts %d --noise %s", h.Parties, h.Computes,
		h.Parties-h.MinParties, h.Noise)
}

// blamed is the control: the first cheat that an oracle notices when it takes all members for honest.
func (r *Run) blamed(out Outcome) (Outcome, error) {
	table, _ := r.Target.table()
	for _, x := range table {
		violations, err := x.Blame()
		if err != nil {
			return out, err
		}
		if n := float64(len(violations)); n > 0 {
			out.Measured, out.Verdict = &n, Broke
			out.Story = []string{fmt.Sprintf("%s: %s: %s", x.Who, x.What, violations[0])}
			return out, nil
		}
	}
	return out, nil
}
