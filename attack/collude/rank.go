package collude

import (
	"context"
	"fmt"
	"slices"

	"choir/crypto/field"
)

const promiseUpdates = "No one learns a party's update, or any sum but one noisy total a round over " +
	"at least N_min parties, as long as one compute node is honest"

// rank counts what linear combinations of honest updates the view determines.
type rank struct{}

// Info implements Attack.
func (rank) Info() Info {
	return Info{ID: "rank", Kind: "leak",
		What: "recombination of shares and partial sums: how many independent combinations of honest parties' " +
			"contributions the view determines in a round, and their values",
		Needs: "nothing", Promise: promiseUpdates, Expected: Held,
		Control: "all compute nodes together"}
}

// Run implements Attack.
func (a rank) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if control {
		c.Nodes, c.Aggregator = r.Target.Nodes, true
		c.Parties = min(c.Parties, r.Target.Parties-2) // whose updates are more than one
	}
	out := Outcome{Coalition: c.String(), Unit: "combinations a round", Verdict: Undecided}
	p, _, err := r.prepare(ctx, c, thinned{}, false)
	if err != nil {
		return out, err
	}
	v := p.view
	most := 0
	for round := 1; round <= r.Target.Rounds; round++ {
		most = max(most, v.rank(round))
	}
	measured, claimed := float64(most), 1.0
	out.Measured, out.Claimed = &measured, &claimed
	out.Verdict = atMost(measured, claimed, control || c.Nodes < r.Target.Nodes)
	if x, ok := v.contribution(0, 1); ok && out.Verdict == Broke {
		out.Story = []string{fmt.Sprintf("the coalition has the victim's channels to all %d compute nodes",
			r.Target.Nodes),
			"the node that got the explicit share opens it; the others expand theirs from the channel's secret",
			fmt.Sprintf("the shares add up to the victim's contribution: its first coordinate is %d grid units", x[0])}
	}
	return out, nil
}

// rank is the dimension of the linear combinations of honest parties' contributions to a round
// that the view determines. The unknowns are the shares of honest parties at honest nodes. The
// view gives the sums of those over the set, node by node or in all.
func (v *View) rank(round int) int {
	plan := v.session.Plan
	var parties, nodes []uint32
	for _, p := range v.set(round) {
		if !v.in[p] {
			parties = append(parties, p)
		}
	}
	if len(parties) == 0 { // no result in the view: the roster is the set
		for p := range uint32(plan.Parties()) {
			if !v.in[p] {
				parties = append(parties, p)
			}
		}
	}
	for k := range plan.Computes() {
		if !v.knowsAll(parties, plan.Compute(k), round) {
			nodes = append(nodes, plan.Compute(k))
		}
	}
	unknown := len(parties) * len(nodes)
	var known [][]field.Element
	whole := make([]field.Element, unknown)
	for n, node := range nodes {
		row := make([]field.Element, unknown)
		for i := range parties {
			row[n*len(parties)+i] = 1
			whole[n*len(parties)+i] = 1
		}
		if _, ok := v.partial(node, round); ok {
			known = append(known, row)
		}
	}
	if _, ok := v.sum(round); ok && unknown > 0 {
		known = append(known, whole)
	}
	var updates [][]field.Element
	for i := range parties {
		row := make([]field.Element, unknown)
		for n := range nodes {
			row[n*len(parties)+i] = 1
		}
		updates = append(updates, row)
	}
	if unknown == 0 {
		return len(parties)
	}
	return rankOf(known) + rankOf(updates) - rankOf(slices.Concat(known, updates))
}

// knowsAll reports whether the coalition has every party's share at a node.
func (v *View) knowsAll(parties []uint32, node uint32, round int) bool {
	for _, p := range parties {
		if _, ok := v.share(p, node, round); !ok {
			return false
		}
	}
	return true
}

// rankOf is the rank of a matrix over the field.
func rankOf(rows [][]field.Element) (rank int) {
	m := make([][]field.Element, len(rows))
	for i := range rows {
		m[i] = slices.Clone(rows[i])
	}
	if len(m) == 0 {
		return 0
	}
	for col := 0; col < len(m[0]) && rank < len(m); col++ {
		pivot := slices.IndexFunc(m[rank:], func(row []field.Element) bool { return row[col] != 0 })
		if pivot < 0 {
			continue
		}
		m[rank], m[rank+pivot] = m[rank+pivot], m[rank]
		for i := rank + 1; i < len(m); i++ {
			// Cross-multiplied, so that nothing is divided.
			a, b := m[rank][col], m[i][col]
			if b == 0 {
				continue
			}
			for j := col; j < len(m[i]); j++ {
				m[i][j] = field.Sub(field.Mul(a, m[i][j]), field.Mul(b, m[rank][j]))
			}
		}
		rank++
	}
	return rank
}
