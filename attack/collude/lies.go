package collude

import (
	"context"
	"errors"
	"fmt"

	"choir/attack/simulate"
)

// lies runs the table of cheats, one by one and two at a time.
type lies struct{}

// pairs is how many pairs of cheats a run takes.
const pairs = 60

// Info implements Attack.
func (lies) Info() Info {
	return Info{ID: "lies", Kind: "lie",
		What: "every false message of the table of cheats by members of the coalition in simulated sessions: " +
			"what honest members reveal, sign and refuse; each of them and pairs on the plan's N_min and noise " +
			"before an oracle that knows every secret; and real sessions on these terms in which all members of " +
			"the coalition alter, drop and double what they sign",
		Needs: "a party, a compute node or the aggregator", Promise: promiseUpdates, Expected: Held,
		Control: "a cheat that changes the sum unseen, judged as if members had to notice it"}
}

// fewest and most are the numbers of parties in a session of the table: a larger one tells no more. It has
// more parties than nodes, so that two of them have explicit shares at one node.
const fewest, most = 4, 12

// table is the cheats in sessions of as many members as the target has.
func (t Target) table() (all []simulate.Cheat, note string) {
	h := simulate.Shape{Parties: max(min(max(t.Parties, fewest), most), t.Nodes+1), Computes: t.Nodes,
		Noise: t.Noise}
	h.MinParties = max(2, (h.Parties*t.MinParties+t.Parties-1)/t.Parties) // as large a share as the plan's
	return simulate.Cheats(h), fmt.Sprintf("the table's sessions have %d parties and %d compute nodes (the "+
		"mix-net's 3); what must come of a cheat is known for exact sums, so in them nobody adds noise, and one "+
		"party may be missing; on the plan's terms, with N_min = %d and %s noise, every cheat and the pairs run "+
		"before the oracle alone", h.Parties, h.Computes, h.MinParties, t.Noise)
}

// cheats are those that the coalition's members can do.
func (c Coalition) cheats(table []simulate.Cheat) (some []simulate.Cheat) {
	can := map[byte]bool{'p': c.Parties > 0, 'c': c.Nodes > 0, 'a': c.Aggregator}
	for _, x := range table {
		if can[x.Who[0]] {
			some = append(some, x)
		}
	}
	return some
}

// suspected is the control of attacks on sums that are not checked.
func suspected(table []simulate.Cheat, out Outcome) (Outcome, error) {
	for _, x := range table {
		if !x.Unseen {
			continue
		}
		problems, err := x.Suspect()
		if err != nil {
			return out, err
		}
		n := float64(len(problems))
		out.Measured, out.Verdict = &n, atMost(n, 0, true)
		out.Story = append([]string{x.Who + ": " + x.What}, problems...)
		return out, nil
	}
	return out, nil
}

// Run implements Attack.
func (lies) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	none := 0.0
	out := Outcome{Coalition: c.String(), Unit: "sessions that went wrong", Claimed: &none, Verdict: Undecided}
	table, note := r.Target.table()
	if control {
		return suspected(table, out)
	}
	wrong, all := 0.0, c.cheats(table)
	out.Measured = &wrong
	for _, x := range all {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		problems, err := x.Run()
		if err != nil {
			return out, err
		}
		if len(problems) > 0 {
			wrong++
			out.Story = append(out.Story, append([]string{x.Who + ": " + x.What}, problems...)...)
		}
	}
	alone, err := onTerms(ctx, all, &out, &wrong)
	if err != nil {
		return out, err
	}
	ran, err := together(ctx, r, all, &out, &wrong)
	if err != nil {
		return out, err
	}
	problems, n, err := r.lying(ctx, c)
	if err != nil {
		return out, err
	}
	wrong += float64(len(problems))
	out.Verdict, out.Story = atMost(wrong, 0, true), append(out.Story, problems...)
	if wrong == 0 {
		out.Story = []string{fmt.Sprintf("%d cheats of the table, %d of them and %d pairs on the plan's terms, "+
			"and %d sessions on these in which all members of the coalition lied, %d times", len(all), alone, ran,
			liarSessions, n)}
	}
	out.Story = append(out.Story, note)
	return out, nil
}

// onTerms runs every cheat on the plan's terms.
func onTerms(ctx context.Context, all []simulate.Cheat, out *Outcome, wrong *float64) (ran int, err error) {
	for _, x := range all {
		n, err := oracled(ctx, out, wrong, fmt.Sprintf("%s: %s, on the plan's terms", x.Who, x.What), x.OnTerms())
		if ran += n; err != nil {
			return ran, err
		}
	}
	return ran, nil
}

// together runs pairs of cheats by different members.
func together(ctx context.Context, r *Run, all []simulate.Cheat, out *Outcome, wrong *float64) (ran int,
	err error) {
	rng := r.rng("lies")
	for tries := 0; tries < 10*pairs && ran < pairs && len(all) > 0; tries++ {
		a, b := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
		if !a.Fits(b) {
			continue
		}
		what := fmt.Sprintf("%s: %s; %s: %s", a.Who, a.What, b.Who, b.What)
		n, err := oracled(ctx, out, wrong, what, a.OnTerms(), b.OnTerms())
		if ran += n; err != nil {
			return ran, err
		}
	}
	return ran, nil
}

// oracled runs cheats in one session, and notes what an oracle finds wrong with the honest members.
// ran is 1, or 0 if the cheats do not fit the plan.
func oracled(ctx context.Context, out *Outcome, wrong *float64, what string,
	cheats ...simulate.Cheat) (ran int, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	violations, err := simulate.Together(cheats...)
	if errors.Is(err, simulate.ErrUnfit) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, v := range violations {
		*wrong++
		out.Story = append(out.Story, fmt.Sprintf("%s: %s", what, v))
	}
	return 1, nil
}

// unseen counts the cheats that change a sum without anybody noticing.
type unseen struct{}

// Info implements Attack.
func (unseen) Info() Info {
	return Info{ID: "unseen", Kind: "lie", What: "cheats of the table that change a sum unnoticed",
		Needs:   "a party, a compute node or the aggregator",
		Promise: "Not protected: that the sum is right when parties lie about their data", Expected: NotPromised,
		Control: "such a cheat, judged as if members had to notice it"}
}

// Run implements Attack.
func (unseen) Run(_ context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	none, n := 0.0, 0.0
	out := Outcome{Coalition: c.String(), Unit: "cheats", Claimed: &none, Measured: &n, Verdict: Held}
	table, note := r.Target.table()
	if control {
		return suspected(table, out)
	}
	for _, x := range c.cheats(table) {
		if x.Unseen {
			n++
			out.Verdict = NotPromised
			out.Story = append(out.Story, x.Who+": "+x.What)
		}
	}
	out.Story = append(out.Story, note)
	return out, nil
}
