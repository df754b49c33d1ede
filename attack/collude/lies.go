package collude

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"choir/attack/simulate"
	"choir/internal/parallel"
	"choir/protocol"
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
	if t.Noise == protocol.NoiseShuffle {
		h.Noise = protocol.NoiseNone
	}
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
	mixes, all := r.Target.Reports != nil, c.cheats(table)
	if mixes {
		all = slices.DeleteFunc(all, func(x simulate.Cheat) bool { return !x.Mix })
		note = "sessions of the mix-net have four parties and three compute nodes"
	}
	trials := trialsOf(all, r)
	if err := runTrials(ctx, r, trials); err != nil {
		return out, err
	}
	var problems []string
	n, sessions := 0, 0
	if !mixes {
		var err error
		sessions = liarSessions
		if problems, n, err = r.lying(ctx, c); err != nil {
			return out, err
		}
	}
	wrong, ran := float64(len(problems)), map[string]int{}
	for _, x := range trials {
		if x.ran {
			ran[x.kind]++
		}
		if len(x.problems) > 0 {
			wrong++
			out.Story = append(out.Story, append([]string{x.what}, x.problems...)...)
		}
	}
	out.Measured, out.Verdict, out.Story = &wrong, atMost(wrong, 0, true), append(out.Story, problems...)
	if wrong == 0 {
		out.Story = []string{fmt.Sprintf("%d cheats of the table, %d of them and %d pairs on the plan's terms, "+
			"and %d sessions on these in which all members of the coalition lied, %d times", ran[inTable],
			ran[onTerms], ran[inPairs], sessions, n)}
	}
	out.Story = append(out.Story, note)
	return out, nil
}

// The kinds of trials.
const (
	inTable = "table" // what comes of it is in the table
	onTerms = "terms" // on the plan's terms, before the oracle alone
	inPairs = "pair"  // the same for two cheats at the same time
)

// trial is a simulated session with one cheat or two.
type trial struct {
	kind, what string
	cheats     []simulate.Cheat
	ran        bool
	problems   []string
}

// trialsOf is every cheat of the table, and on the plan's terms, and pairs of them.
func trialsOf(all []simulate.Cheat, r *Run) (trials []*trial) {
	for _, x := range all {
		trials = append(trials, &trial{kind: inTable, what: x.Who + ": " + x.What, cheats: []simulate.Cheat{x}})
	}
	for _, x := range all {
		trials = append(trials, &trial{kind: onTerms,
			what:   fmt.Sprintf("%s: %s, on the plan's terms", x.Who, x.What),
			cheats: []simulate.Cheat{x.OnTerms()}})
	}
	rng, found := r.rng("lies"), 0
	for tries := 0; tries < 10*pairs && found < pairs && len(all) > 0; tries++ {
		a, b := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
		if a.Fits(b) {
			found++
			trials = append(trials, &trial{kind: inPairs, what: fmt.Sprintf("%s: %s; %s: %s", a.Who, a.What, b.Who,
				b.What), cheats: []simulate.Cheat{a.OnTerms(), b.OnTerms()}})
		}
	}
	return trials
}

// runTrials runs trials on all cores. When the run is late it runs those of the table alone.
func runTrials(ctx context.Context, r *Run, trials []*trial) error {
	return parallel.Try(len(trials), func(i int) (err error) {
		x := trials[i]
		if x.kind != inTable && r.late() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.kind == inTable {
			x.problems, err = x.cheats[0].Run()
		} else {
			var violations []simulate.Violation
			violations, err = simulate.Together(x.cheats...)
			for _, v := range violations {
				x.problems = append(x.problems, v.String())
			}
		}
		if errors.Is(err, simulate.ErrUnfit) {
			return nil
		}
		x.ran = err == nil
		return err
	})
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
