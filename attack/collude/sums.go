package collude

import (
	"context"
	"fmt"
	"math"
	mathrand "math/rand/v2"

	"choir/privacy"
	"choir/protocol"
)

// others is what honest parties but the victim contribute: any numbers will do.
func others(party, dim int) []int64 {
	x := make([]int64, dim)
	for j := range x {
		x[j] = int64(37*party - 100)
	}
	return x
}

// sums are the inputs of a session whose coordinates are independent runs: a secret coin decides which
// of two neighbouring inputs a run has. Unsampled, the victim's term is half the sensitivity up or
// down, in every round and local step; sampled, it is there by the plan's rate. In every fourth run the
// coin decides about a group of records, which add one term of the group's size.
type sums struct {
	t     Target
	bits  []bool
	seed  [32]byte
	group int // 0: no run has one
}

// records is how many records the coin of a run decides about.
func (s sums) records(run int) int {
	if s.group > 1 && run%4 == 3 {
		return s.group
	}
	return 1
}

func (r *Run) newSums(t Target, name string) sums {
	s, rng := sums{t: t, bits: make([]bool, r.Runs)}, r.rng(name)
	for j := range s.bits {
		s.bits[j] = rng.IntN(2) == 1
	}
	for i := range s.seed {
		s.seed[i] = byte(rng.Uint32())
	}
	return s
}

func (s sums) inputs(party, round int) []int64 {
	if party > 0 {
		return s.t.other(party, len(s.bits))
	}
	x, draws := make([]int64, len(s.bits)), s.draws(round)
	up, down := s.t.terms()
	for j, in := range s.bits {
		term := down
		if in {
			term = up
		}
		x[j] = int64(s.t.entries(draws)) * term * int64(s.records(j))
	}
	return s.t.withLocal(x)
}

// draws are the victim's secret draws of a round.
func (s sums) draws(round int) *mathrand.Rand {
	seed := s.seed
	seed[0] ^= byte(round)
	seed[1] ^= byte(round >> 8)
	return mathrand.New(mathrand.NewChaCha8(seed))
}

// terms are what a record adds to a sum, with and without it, as far apart as the sensitivity
// lets them be.
func (t Target) terms() (with, without int64) {
	if t.Relation == privacy.AddRemove {
		return int64(t.Sensitivity), 0
	}
	return int64(t.Sensitivity / 2), -int64(t.Sensitivity / 2)
}

// entries is in how many of a contribution's steps the record takes part.
func (t Target) entries(draws *mathrand.Rand) (n int) {
	if t.Sampling == privacy.SamplingNone {
		return t.Steps
	}
	for range t.Steps {
		if draws.Float64() < t.Rate {
			n++
		}
	}
	return n
}

// known is what the adversary knows of honest parties.
func (s sums) known(party, _ int) []int64 { return others(party, len(s.bits)) }

// scores are the log-likelihood ratios of all rounds for Gaussian noise, by run.
func (s sums) scores(v *View) ([]float64, bool) {
	total := make([]float64, len(s.bits))
	for round := 1; round <= s.t.Rounds; round++ {
		x, ok := v.Residual(round)
		if !ok {
			return nil, false
		}
		variance := float64(s.t.Variance) * float64(s.t.hidden(v.Coalition, len(v.set(round))))
		for j := range total {
			total[j] += s.t.logRatio(float64(x[j]), variance)
		}
	}
	return total, true
}

// rest is the residual of a round.
func rest(v *View, round int) ([]float64, bool) {
	x, ok := v.Residual(round)
	rest := make([]float64, len(x))
	for j := range x {
		rest[j] = float64(x[j])
	}
	return rest, ok
}

// logRatio compares the densities of a residual with and without the record, up to a positive
// factor: of Gaussians, or of the mixtures that sampling makes of them. Several sampled steps
// are taken together.
func (t Target) logRatio(x, variance float64) float64 {
	up, down := t.terms()
	steps := float64(t.Steps)
	if t.Sampling != privacy.SamplingNone && t.Steps == 1 && variance > 0 {
		mixture := func(term int64) float64 {
			a := float64(term)
			return math.Log1p(t.Rate * math.Expm1((x*a-a*a/2)/variance))
		}
		return mixture(up) - mixture(down)
	}
	rate := 1.0
	if t.Sampling != privacy.SamplingNone {
		rate = t.Rate
	}
	return x - steps*rate*float64(up+down)/2
}

// split separates scores by the secret coins and by whether they are about one record.
func (s sums) split(scores []float64) (one, group sample) {
	for j, x := range scores {
		if s.records(j) == 1 {
			one.add(s.bits[j], x)
		} else {
			group.add(s.bits[j], x)
		}
	}
	return one, group
}

// ones are the first scores and coins of runs about one record, at most a number of them.
func (s sums) ones(scores []float64, most int) (some []float64, bits []bool) {
	for j, x := range scores {
		if s.records(j) == 1 && len(some) < most {
			some, bits = append(some, x), append(bits, s.bits[j])
		}
	}
	return some, bits
}

const promiseRecords = "Under a plan that claims (epsilon, delta), what the revealed totals and the public " +
	"models reveal about one record is bounded by that claim"

// epsilon measures the epsilon of all rounds together.
type epsilon struct{}

// Info implements Attack.
func (epsilon) Info() Info {
	return Info{ID: "epsilon", Kind: "leak",
		What: "the epsilon of all rounds' sums in fact, by the likelihood ratio of a record after the " +
			"coalition's own noise and terms are subtracted",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise"}
}

// Run implements Attack.
func (epsilon) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	return measureSums(ctx, r, c, thinned{}, control)
}

// bare is the target without noise, where attacks must succeed.
func (t Target) bare() Target {
	t.Noise, t.Variance, t.Rounds, t.Steps, t.MinParties = protocol.NoiseNone, 0, 1, 1, t.Parties
	t.Sampling, t.Rate, t.Colluders = privacy.SamplingNone, 0, 0
	return t
}

// prepared is what an attack on sums starts from.
type prepared struct {
	sums
	view  *View
	claim float64
	seen  func(round int) ([]float64, bool) // what a sampled session shows in a round; nil: its residual
}

// prepare runs the session of sums, or the one without noise in which a control must succeed.
func (r *Run) prepare(ctx context.Context, c Coalition, by thinned, control bool) (p prepared, out Outcome,
	err error) {
	t, name := r.Target, "sums"
	if control {
		t = t.bare()
		name, c.Aggregator = "sums without noise", true
		t.MinParties -= by.parties
	}
	out = Outcome{Coalition: c.String(), Unit: "epsilon", Verdict: Undecided}
	p.sums = r.newSums(t, name)
	p.group = p.largest(r.Runs)
	if by.parties > 0 {
		name += fmt.Sprint(by)
	}
	rec, err := r.record(ctx, name, t, r.Runs, by.staging(), p.inputs)
	if err != nil {
		return p, out, err
	}
	if p.view, err = rec.view(c, p.known); err != nil {
		return p, out, err
	}
	p.view.records = p.records
	if p.claim, err = r.Target.claim(c, t.Parties-by.parties); control {
		p.claim = r.Target.budget()
	}
	out.Claimed = wide(p.claim)
	return p, out, err
}

// measureSums measures one coalition in a session whose sets are thinned.
func measureSums(ctx context.Context, r *Run, c Coalition, by thinned, control bool) (Outcome, error) {
	p, out, err := r.prepare(ctx, c, by, control)
	if err != nil {
		return out, err
	}
	scores, ok := p.scores(p.view)
	if !ok {
		return nothingSeen(out), nil
	}
	return p.judge(out, r, scores, gaussian, control)
}

// judge measures scores, one for each run. The shape holds without sampling.
func (p prepared) judge(out Outcome, r *Run, scores []float64, s shape, control bool) (Outcome, error) {
	if p.t.Sampling != privacy.SamplingNone {
		s = anyShape
	}
	one, group := p.split(scores)
	m, err := measure(one, group, p.group, p.t.Delta, s)
	if err != nil {
		return out, err
	}
	if p.t.Sampling != privacy.SamplingNone && !control {
		if p.seen == nil {
			p.seen = func(round int) ([]float64, bool) { return rest(p.view, round) }
		}
		if err := p.sampled(&m, p.seen); err != nil {
			return out, err
		}
	}
	out.Detail, out.Measured = &m, wide(m.Low)
	out.Verdict = atMost(m.Low, p.claim, control || r.Target.tolerated(p.view.Coalition))
	if !control {
		out.Reason = r.Target.reason(p.view.Coalition, len(p.view.set(1)))
	}
	if m.Low > p.claim {
		out.Story = []string{
			fmt.Sprintf("%d repetitions in the coordinates of one session, rounds: %d; in each a coin decided "+
				"whether the record was there", r.Runs, p.t.Rounds),
			"the coalition subtracted its own terms and noise from each sum, and what the other honest parties sent",
			fmt.Sprintf("guessing by the sign of the rest has an area under the curve of %.4f", m.AUC),
			fmt.Sprintf("so epsilon is at least %.4g; the claim is %.4g", m.Low, p.claim),
		}
	}
	return out, nil
}

// nothingSeen is the outcome of a coalition that learns no sum: its best score is a constant.
func nothingSeen(o Outcome) Outcome {
	zero := 0.0
	o.Measured, o.Verdict = &zero, Held
	o.Story = []string{"nothing in the view depends on the victim's vector but shares of fewer than all nodes"}
	return o
}
