package bed

import (
	"context"
	"fmt"
	"math"

	"choir/lab/study"
	"choir/learn/bayes"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// Tally is one secure sum of integer vectors with joint noise: a party's counts or
// scores on its records.
type Tally struct {
	Name      string // with Seed it determines all randomness
	Seed      uint64
	Sums      [][]int64 // by party: the sum of its records' terms
	Bound     uint64    // L2 norm of one record's term, at most
	PerParty  uint64    // L2 norm of a party's sum, at most
	Epsilon   float64
	Delta     float64
	Transport study.Transport
	Dir       string
}

// Do reveals the noisy sum over all parties, and accounts for it: neighbours differ in
// one record of one party, which moves the sum by at most 2 Bound.
func (t Tally) Do(ctx context.Context) (sum []int64, spent study.Spent, err error) {
	s, err := t.sign()
	if err != nil {
		return nil, spent, fmt.Errorf("%s: %w", t.Name, err)
	}
	if t.Transport == Clear || t.Transport == "" {
		sum, err = s.clear(ctx)
	} else {
		sum, err = s.session(ctx)
	}
	if err != nil {
		return nil, spent, fmt.Errorf("%s, seed %d: %w", t.Name, t.Seed, err)
	}
	b, err := privacy.Epsilon([]privacy.Release{t.release(s.plan)}, t.Delta)
	if err == nil && !(b.Epsilon <= t.Epsilon) {
		err = fmt.Errorf("%s: the noise allows for epsilon %g, not %g", t.Name, b.Epsilon, t.Epsilon)
	}
	return sum, study.Spent{Method: t.Name, Epsilon: b.Epsilon, Delta: t.Delta, Accountant: b.Method,
		Relation: privacy.ReplaceOne.String(),
		Noise:    joint(math.Sqrt(float64(s.plan.Variance))/float64(t.Bound), s.plan) + "; 1 release"}, err
}

func (t Tally) release(p *protocol.Plan) privacy.Release {
	return privacy.Release{Sensitivity: 2 * t.Bound, PartVariance: p.Variance,
		Parts: uint32(p.HiddenParts()), Dim: p.Dim}
}

// sign has every member sign the plan of one sum.
func (t Tally) sign() (*signed, error) {
	if len(t.Sums) < 2 || len(t.Sums[0]) == 0 {
		return nil, fmt.Errorf("%d vectors are nothing to sum", len(t.Sums))
	}
	r := Run{Name: t.Name, Seed: t.Seed, Parts: make([]bayes.Data, len(t.Sums)), Computes: 3, Rounds: 1,
		Transport: t.Transport, Dir: t.Dir}
	ts, roster, err := r.terms()
	if err != nil {
		return nil, err
	}
	dim := len(t.Sums[0])
	s := &signed{Run: r, model: app.Sum{Dim: dim}}
	s.seat = func(party int) (app.Party, error) {
		return counter{app.Sum{Dim: dim}, app.Fixed(t.Sums[party])}, nil
	}
	hidden := len(t.Sums) - 1 // all but one curious party's
	n, err := privacy.Calibrate(privacy.Target{Epsilon: t.Epsilon, Delta: t.Delta, Sensitivity: 2 * t.Bound,
		Dim: uint32(dim), Releases: 1, Parts: uint32(hidden)})
	if err != nil {
		return nil, err
	}
	// so that rounding takes nothing off
	sigma := math.Sqrt(float64(n.PartVariance)*float64(hidden)) * (1 + 1e-9)
	if s.plan, err = ts.Sum(terms.SumTerms{Dim: dim, PerParty: t.PerParty, Sigma: sigma}); err != nil {
		return nil, err
	}
	return s, s.signAll(roster)
}

// counter is a party of a Tally.
type counter struct {
	app.Sum
	app.Fixed
}

// Together is what several runs on the same records cost, one after the other, each
// knowing what the earlier ones gave.
func Together(method string, all []*Outcome) (study.Spent, error) {
	var charges []privacy.SampledRelease
	for _, o := range all {
		c, ok := o.Plan.Charge(int(o.Plan.Rounds))
		if !ok || o.Plan.Noise == protocol.NoiseLocal {
			return study.Spent{}, fmt.Errorf("lab: %s: a run without joint noise has no account with others", method)
		}
		charges = append(charges, c)
	}
	if len(all) == 0 {
		return study.Spent{}, fmt.Errorf("lab: %s: no runs", method)
	}
	p := all[0].Plan
	b, err := privacy.Spent(charges, privacy.Relation(p.Relation), p.Delta, privacy.PlanPrecision())
	if err != nil {
		return study.Spent{}, err
	}
	s := all[0].Spent
	s.Method = method
	s.Epsilon = b.Epsilon
	s.Accountant = b.Method
	s.Noise = fmt.Sprintf("%s, in each of %d runs", s.Noise, len(all))
	return s, nil
}
