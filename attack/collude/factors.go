package collude

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/crypto/noise"
	"choir/privacy"
)

// noisyFactors is the attack on private factors that keep the noise (docs/noisy-factors.md).
type noisyFactors struct{}

// The scheme under attack: enough rounds and damping for old noise to return.
const (
	factorRounds  = 15
	factorDamping = 0.4
	factorRuns    = 1 << 14
	factorParties = 10 // at least: with fewer the victim's own share of the noise hides more
)

// Info implements Attack.
func (noisyFactors) Info() Info {
	return Info{ID: "noisy-factors", Kind: "leak",
		What: "fifteen rounds of partitioned inference with damping, in which the other parties answer the " +
			"public model: how much of the victim's earlier updates returns in later sums",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "the published scheme, whose private factors keep the noise"}
}

// factors is a session of the scheme of docs/noisy-factors.md, section 1, one natural parameter in
// each coordinate. The victim's update is always clipped; the others, whose exact posterior is the
// prior, take back what their factors have.
type factors struct {
	sums
	noisy   bool        // factors keep the noise
	factor  [][]float64 // by party
	sampler *noise.Gaussian
}

func (f *factors) inputs(party, _ int) []int64 {
	x, z := make([]int64, len(f.bits)), make([]int64, len(f.bits))
	if f.sampler.Fill(z, rand.Reader) != nil {
		return nil // refused as an update of a wrong length
	}
	up, down := f.t.terms()
	for j := range x {
		switch {
		case party > 0:
			x[j] = -int64(math.Round(f.factor[party][j]))
		case f.bits[j]:
			x[j] = up
		default:
			x[j] = down
		}
		kept := x[j]
		x[j] += z[j]
		if f.noisy {
			kept = x[j]
		}
		f.factor[party][j] += factorDamping * float64(kept)
	}
	return x
}

// scores are the best statistic for each scheme: with noisy factors the sums plus the public model,
// weighted by V^-1 B 1 [section 3]; otherwise the sums, in which the others' updates are 0.
func (f *factors) scores(v *View) ([]float64, bool, error) {
	weights := make([]float64, factorRounds)
	for s := range weights {
		weights[s] = 1
	}
	if f.noisy {
		if err := factorWeights(weights, float64(f.t.Parties)); err != nil {
			return nil, false, err
		}
	}
	total, model := make([]float64, len(f.bits)), make([]float64, len(f.bits))
	for round := 1; round <= factorRounds; round++ {
		sum, ok := v.sum(round)
		if !ok {
			return nil, false, nil
		}
		for j, x := range sum {
			y := float64(x)
			if f.noisy {
				y += model[j]
			}
			model[j] += factorDamping * float64(x)
			total[j] += weights[round-1] * y
		}
	}
	return total, true, nil
}

// factorWeights solves V w = B 1, V = (1 - 1/M) I + B B' / M, where B has the damping below a
// diagonal of ones.
func factorWeights(w []float64, m float64) error {
	n := len(w)
	b, v := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	right := mat.NewVecDense(n, nil)
	for i := range n {
		b.Set(i, i, 1)
		for j := range i {
			b.Set(i, j, factorDamping)
		}
		right.SetVec(i, 1+factorDamping*float64(i))
	}
	v.Mul(b, b.T())
	v.Scale(1/m, v)
	for i := range n {
		v.Set(i, i, v.At(i, i)+1-1/m)
	}
	var x mat.VecDense
	if err := x.SolveVec(v, right); err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	copy(w, x.RawVector().Data)
	return nil
}

// Run implements Attack.
func (noisyFactors) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	t := r.Target.bare()
	t.Parties = max(t.Parties, factorParties)
	t.MinParties = t.Parties
	t.Rounds, t.Relation, t.Sensitivity = factorRounds, privacy.ReplaceOne, sensitivity
	c.Aggregator = c.Aggregator || control
	// What the coalition could subtract is not what this attack is about: it has no parties' noise.
	c.Parties, c.Nodes = 0, min(c.Nodes, t.Nodes-1)
	out := Outcome{Coalition: c.String(), Unit: "epsilon", Verdict: Undecided}
	n, err := privacy.Calibrate(privacy.Target{Epsilon: r.Target.budget(), Delta: t.Delta,
		Sensitivity: t.Sensitivity, Dim: 1, Releases: factorRounds, Parts: uint32(t.Parties), Relation: t.Relation})
	if err != nil {
		return out, err
	}
	runs := min(factorRuns, 4*mostElements/(t.Parties*factorRounds))
	if r.late() {
		runs /= 2
	}
	r = &Run{Options: r.Options, sessions: r.sessions}
	r.Runs = runs
	f := &factors{sums: r.newSums(t, "factors"), noisy: control || r.Lab.plants.noisyFactors,
		factor: make([][]float64, t.Parties)}
	for i := range f.factor {
		f.factor[i] = make([]float64, r.Runs)
	}
	if f.sampler, err = noise.NewGaussian(n.PartVariance); err != nil {
		return out, err
	}
	rec, err := r.Lab.run(ctx, t, r.Runs, staging{}, f.inputs)
	if err != nil {
		return out, err
	}
	p := prepared{sums: f.sums, claim: r.Target.budget()}
	if p.view, err = rec.view(c, nil); err != nil {
		return out, err
	}
	scores, ok, err := f.scores(p.view)
	out.Claimed = wide(p.claim)
	if err != nil || !ok {
		return nothingSeen(out), err
	}
	return p.judge(out, r, scores, gaussian, control)
}
