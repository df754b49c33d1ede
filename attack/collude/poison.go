package collude

import (
	"context"
	"fmt"
	"math"
	"time"

	"choir/protocol"
	"choir/session/run"
)

// poison moves a sum as far as it is accepted.
type poison struct{}

// poisonDim is the length of the sum; the step of the search is 2^(1/8).
const poisonDim = 64

// Info implements Attack.
func (poison) Info() Info {
	return Info{ID: "poison", Kind: "break",
		What: "how far the coalition's parties move an accepted sum, as a multiple of the bound on one party's " +
			"vector: the largest addition to every coordinate that sessions accept, against the most that the check " +
			"of a sum's norm lets through",
		Needs: "a party", Promise: "A sum that leaves the plan's range is rejected and the round is lost",
		Expected: Held, Control: "one party, judged as if its vector had to keep its bound"}
}

// Run implements Attack.
func (poison) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if control {
		c.Parties = 1
	}
	honest, moved := float64(c.Parties), 0.0
	out := Outcome{Coalition: c.String(), Unit: "times a party's bound", Claimed: &honest, Measured: &moved}
	if c.Parties == 0 {
		return nothingSeen(out), nil
	}
	perParty := max(1<<20, r.Target.Sensitivity/2)
	reach, err := r.Target.reach(perParty)
	if err != nil {
		return out, err
	}
	// From an honest vector to the largest numbers of the field, in eighths of a power of two.
	lo, hi := 0, int(8*math.Log2(math.Exp2(61)*honest/float64(8*r.Target.Parties)))
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		accepted, err := r.poisoned(ctx, c, perParty, int64(math.Exp2(float64(mid)/8)))
		if err != nil {
			return out, err
		}
		if accepted {
			lo = mid
		} else {
			hi = mid
		}
	}
	each := math.Exp2(float64(lo) / 8)
	moved = each * math.Sqrt(poisonDim) / float64(perParty)
	out.Story = []string{
		fmt.Sprintf("%d of %d parties add up to %.4g grid units to each of %d coordinates of a sum that is "+
			"accepted, %.3g in all", c.Parties, r.Target.Parties, each, poisonDim, each*math.Sqrt(poisonDim)),
		fmt.Sprintf("as many honest parties could add %.3g, %g times a party's bound", honest*float64(perParty),
			honest),
		fmt.Sprintf("the check of the sum's norm lets %.3g through, whatever the others add",
			reach*float64(perParty)),
		fmt.Sprintf("without any bound on sums it would be %.3g, the range of the field",
			math.Exp2(62)*math.Sqrt(poisonDim)),
		fmt.Sprintf("with inputs that are proven to keep their bound it would be %.3g", honest*float64(perParty)),
		"a model moves by this much at most in one round, times its damping; rejected sums leave it where it was"}
	if !control {
		out.Claimed = &reach
	}
	out.Verdict = atMost(moved, *out.Claimed, true)
	return out, nil
}

// reach is how far a sum of poisonDim coordinates can be moved by the plan's check of its norm, as a multiple
// of the bound on a party's vector.
func (t Target) reach(perParty uint64) (float64, error) {
	roster, err := run.NewRoster(nil, t.Parties, t.Nodes)
	if err != nil {
		return 0, err
	}
	t.Rounds = 1
	p, err := t.sessionPlan(roster, poisonDim, staging{perParty: perParty})
	if err != nil {
		return 0, err
	}
	_, norm, err := p.Reach()
	return norm, err
}

// poisoned runs a session in which the coalition's parties together add so much to each coordinate, and
// reports whether the sum is accepted.
func (r *Run) poisoned(ctx context.Context, c Coalition, perParty uint64, each int64) (bool, error) {
	t := r.Target
	t.Rounds = 1
	from := t.Parties - c.Parties
	// A dishonest party's machine stops at a result that its own plan rejects.
	s := staging{perParty: perParty, giveUp: time.Minute, plan: func(member uint32, p *protocol.Plan) {
		switch {
		case int(member) >= from && int(member) < t.Parties:
			p.PerParty = 1 << 62 / uint64(p.Parties())
		case r.Lab.plants.perCoordinate:
			p.PerParty = eachCoordinate(p)
		}
	}}
	rec, err := r.Lab.run(ctx, t, poisonDim, s, func(party, _ int) []int64 {
		x := make([]int64, poisonDim)
		for j := range x {
			if party >= from {
				x[j] = each / int64(c.Parties)
			}
		}
		return x
	})
	if err != nil {
		return false, err
	}
	for _, m := range rec.messages {
		_, msg, err := rec.session.Receive(m.Data)
		if result, ok := msg.(*protocol.Result); err == nil && ok {
			return result.Outcome == protocol.OutcomeAccepted, nil
		}
	}
	return false, rec.end
}

// eachCoordinate is a bound on a party's vector under which the check of the norm passes what the check of
// each coordinate does, for a sum of equal coordinates.
func eachCoordinate(p *protocol.Plan) uint64 {
	limit, err := p.MaxSum()
	if err != nil {
		return p.PerParty
	}
	tail := limit.Norm - p.PerParty*uint64(p.Parties())
	return (uint64(math.Sqrt(poisonDim)*float64(limit.Coordinate)) - tail) / uint64(p.Parties())
}
