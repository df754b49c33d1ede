package collude

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/attack/threat"
	"choir/protocol"
)

// reconstruction solves statistics for the records that they are made of.
type reconstruction struct{}

// A data set has recBits records of one secret bit each, and recQueries statistics: the records' bits with
// random signs.
const (
	recBits    = 32
	recQueries = 64
	recSets    = 64 // data sets at least

	recElements = 1 << 20 // numbers that the parties of a session send in all, about
)

// Info implements Attack.
func (reconstruction) Info() Info {
	return Info{ID: "reconstruction", Kind: "leak",
		What: "reconstruction of records from statistics [DN03]: 64 sums of 32 secret bits with random signs are " +
			"solved by least squares; how many of the bits are right",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise; its story has one with a tenth of the noise"}
}

// puzzle is a session's data sets.
type puzzle struct {
	sums
	signs *mat.Dense // recQueries by recBits
	data  []bool     // recBits for each data set
	runs  int        // data sets
}

func (r *Run) newPuzzle(t Target, name string) *puzzle {
	rng := r.rng(name)
	p := &puzzle{sums: sums{t: t}, signs: mat.NewDense(recQueries, recBits, nil),
		runs: max(recSets, min(r.Runs/recQueries, recElements/(t.Parties*t.Rounds*recQueries)))}
	for i := range recQueries {
		for j := range recBits {
			p.signs.Set(i, j, float64(2*rng.IntN(2)-1))
		}
	}
	for range p.runs * recBits {
		p.data = append(p.data, rng.IntN(2) == 1)
	}
	return p
}

// term is what a record adds to each statistic, but for the sign: all of them together are within the
// sensitivity.
func (p *puzzle) term(in bool) float64 {
	up, down := p.t.terms()
	if in {
		return float64(up) / math.Sqrt(recQueries)
	}
	return float64(down) / math.Sqrt(recQueries)
}

func (p *puzzle) inputs(party, round int) []int64 {
	dim := p.runs * recQueries
	if party > 0 {
		return p.t.other(party, dim)
	}
	x, draws := make([]int64, dim), p.draws(round)
	for k := range p.runs {
		entries := float64(p.t.entries(draws))
		for i := range recQueries {
			sum := 0.0
			for j := range recBits {
				sum += p.signs.At(i, j) * p.term(p.data[k*recBits+j])
			}
			x[k*recQueries+i] = int64(math.Round(entries * sum))
		}
	}
	return p.t.withLocal(x)
}

// solution is how many bits are right, and how many of those that come first in their data set: these
// are independent.
type solution struct{ right, first int }

// solve returns what is right. ok is false if the view has no sums.
func (p *puzzle) solve(v *View) (s solution, ok bool, err error) {
	total, steps := make([]float64, p.runs*recQueries), float64(p.t.Rounds*p.t.Steps)
	if p.t.Rate > 0 {
		steps *= p.t.Rate
	}
	for round := 1; round <= p.t.Rounds; round++ {
		rest, seen := v.Residual(round)
		if !seen {
			return s, false, nil
		}
		for i, x := range rest {
			total[i] += float64(x) / steps
		}
	}
	var answer mat.Dense
	if err := answer.Solve(p.signs, mat.NewDense(p.runs, recQueries, total).T()); err != nil {
		return s, false, fmt.Errorf("reconstruction: %w", err)
	}
	middle := (p.term(true) + p.term(false)) / 2
	for k := range p.runs {
		for j := range recBits {
			if (answer.At(j, k) > middle) != p.data[k*recBits+j] {
				continue
			}
			if s.right++; j == 0 {
				s.first++
			}
		}
	}
	return s, true, nil
}

// attack runs a session and solves its sums.
func (p *puzzle) attack(ctx context.Context, r *Run, name string, c Coalition) (s solution, ok bool,
	err error) {
	rec, err := r.record(ctx, name, p.t, p.runs*recQueries, staging{}, p.inputs)
	if err != nil {
		return s, false, err
	}
	v, err := rec.view(c, func(party, _ int) []int64 { return others(party, p.runs*recQueries) })
	if err != nil {
		return s, false, err
	}
	return p.solve(v)
}

// share is the share of the bits that are right.
func (p *puzzle) share(s solution) float64 { return float64(s.right) / float64(recBits*p.runs) }

// least is a lower confidence limit for it: Hoeffding's inequality for the mean of independent data
// sets, or Clopper and Pearson's for their first bits.
func (p *puzzle) least(s solution) float64 {
	return max(p.share(s)-math.Sqrt(-math.Log(falseAlarm/2)/2/float64(p.runs)),
		threat.LowerRate(s.first, p.runs, falseAlarm/2))
}

// Run implements Attack.
func (reconstruction) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	t, note := r.shortened(r.Target, r.Target.Rounds)
	name, limit := fmt.Sprint("reconstruction ", t.Rounds), 0.7
	out := Outcome{Unit: "share of bits right", Verdict: Undecided}
	if control {
		t, note, name = r.Target.bare(), nil, "reconstruction without noise"
		c.Aggregator = true
	} else {
		claim, err := r.Target.claim(c, t.Parties)
		if err != nil {
			return out, err
		}
		// Who guesses a coin right more often refutes (epsilon, delta).
		limit = min(1, 1/(1+math.Exp(-claim))+t.Delta)
	}
	out.Coalition, out.Claimed = c.String(), &limit
	p := r.newPuzzle(t, name)
	found, ok, err := p.attack(ctx, r, name, c)
	if err != nil {
		return out, err
	}
	if !ok {
		return nothingSeen(out), nil
	}
	share, least := p.share(found), p.least(found)
	out.Measured = &share
	out.Verdict = atMost(least, limit, control || r.Target.tolerated(c))
	out.Story = append(note, fmt.Sprintf("%.1f%% of the bits of %d data sets of %d records are right, at least "+
		"%.1f%%", 100*share, p.runs, recBits, 100*least))
	if control && r.Target.Noise != protocol.NoiseNone && !r.late() {
		return r.underNoised(ctx, c, out)
	}
	return out, nil
}

// underNoised adds to a story what a tenth of the noise gives away.
func (r *Run) underNoised(ctx context.Context, c Coalition, out Outcome) (Outcome, error) {
	t := r.Target
	t.Variance = max(1, t.Variance/100)
	p := r.newPuzzle(t, "under-noised")
	found, ok, err := p.attack(ctx, r, "reconstruction with a tenth of the noise", c)
	if err == nil && ok {
		out.Story = append(out.Story, fmt.Sprintf("with a tenth of the plan's noise %.1f%% are right",
			100*p.share(found)))
	}
	return out, err
}
