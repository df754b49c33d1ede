package pvi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

// Averaging without privacy ends at the exact posterior of linear regression: each shard's
// factor becomes K copies of its likelihood, K being the number of shards, and their mean
// is the party's likelihood. The same holds when the factor is the party's released
// updates, on the grid of 2^-34.
func TestAveragingIsExact(t *testing.T) {
	c := linearConfig(gauss.Full)
	c.Damping, c.FracBits = 0.5, 34
	c.DampingBits = 10
	c = as(c, NameAveraging, func(p *Params) { p.Shards = 5 })
	ls, all := parties(t, c, 4)
	post, err := runReal(context.Background(), c, ls, 80)
	if err != nil {
		t.Fatal(err)
	}
	released := c
	released.Factors = FactorsNoisy
	released = as(released, released.name(), func(p *Params) { p.Local = true })
	rs, _ := parties(t, released, 4)
	for i, l := range rs {
		rs[i] = noised(t, l, 0, 1)
	}
	h := run(t, released, rs, nil, 80)
	for i, want := range exactPosterior(c, all) {
		if got := post.Natural()[i]; math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("coordinate %d: %v, want %v", i, got, want)
		}
		if got := c.Reals(h.Final())[i]; math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("released, coordinate %d: %v, want %v", i, got, want)
		}
	}
}

// A shard's averaged update by hand: with n copies of its data, the optimum minus q,
// over n.
func TestAveragedUpdateByHand(t *testing.T) {
	c := linearConfig(gauss.Full)
	c = as(c, NameAveraging, func(p *Params) { p.Shards = 2 })
	d := dense(c, 3, 10)
	p := propose(t, learner(t, c, d, 1), 1, c.Initial(), learner(t, c, d, 1).InitialState())
	// With the prior as q and no factors yet, each shard's optimum minus q is twice its
	// likelihood; half of their sum is the likelihood of all.
	want, prior := exactPosterior(c, d), c.Reals(c.Initial())
	for i, u := range p.Update {
		if got := float64(u) * 0x1p-20; math.Abs(got-(want[i]-prior[i])) > 2*0x1p-20 {
			t.Errorf("coordinate %d: %v, want %v", i, got, want[i]-prior[i])
		}
	}
}

// The shards' strategies at one party, with private, tied and released factors: one
// record changes the sum before the noise by at most the sensitivity, in every round
// of the same public history. For private factors that is their own row alone.
func TestOneRecordMovesASumBySensitivity(t *testing.T) {
	for _, s := range []StrategyName{NameDataset, NameVirtual, NameAveraging, NamePerturbation} {
		for _, f := range []Factors{FactorsPrivate, FactorsTied, FactorsNoisy} {
			c := methodConfigs()[s]
			if c.traits().local && f != FactorsNoisy {
				continue
			}
			c.Factors, c.Clip = f, 0.05
			c = as(c, c.name(), func(p *Params) { p.Local = p.Local || f == FactorsNoisy })
			if f == FactorsTied {
				c.Beta = 0.7
			}
			m, err := c.Mechanism()
			if err != nil {
				t.Fatal(err)
			}
			if worst := worstMove(t, c, m.Sensitivity); worst < 0.2 {
				t.Errorf("%s, %s: came to %v of the sensitivity only", s, f, worst)
			} else {
				t.Logf("%s, %s: up to %.2f of the sensitivity", s, f, worst)
			}
		}
	}
}

// worstMove runs neighbours over the same public history and returns the largest
// share of the sensitivity by which their sums differ. It fails beyond it.
func worstMove(t *testing.T, c Config, sensitivity uint64) (worst float64) {
	t.Helper()
	data := dense(c, 1, 30)
	other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
	const victim = 10
	for j := range c.Features {
		data.X[victim*c.Features+j], other.X[victim*c.Features+j] = 50, -50
	}
	data.Y[victim], other.Y[victim] = 1, 1
	a, b := learner(t, c, data, 0.5), learner(t, c, other, 0.5)
	if c.params().Local {
		a, b = noised(t, a, 0, 1), noised(t, b, 0, 1)
	}
	sa := a.InitialState()
	sb := b.InitialState()
	raw := c.Initial()
	r := rand.New(rand.NewPCG(9, 9))
	for round := 1; round <= 8; round++ {
		pa, pb := propose(t, a, round, raw, sa), propose(t, b, round, raw, sb)
		diff, public := make([]int64, c.Dim()), slices.Clone(pa.Update)
		for i := range diff {
			diff[i] = pa.Update[i] - pb.Update[i]
			public[i] += int64(r.NormFloat64() * 4 * float64(sensitivity))
		}
		if !fixedpoint.NormSquaredAtMost(diff, sensitivity) {
			t.Fatalf("round %d: moved by more than %d", round, sensitivity)
		}
		worst = max(worst, norm(diff)/float64(sensitivity))
		if c.Released() { // what was released is in the history: the same for both
			pa.Memo = c.encode(block{kind: kindMemo, round: round, rows: [][]int64{public}})
			pb.Memo = pa.Memo
		}
		sa, sb = settle(t, a, round, sa, pa), settle(t, b, round, sb, pb)
		var err error
		if raw, err = c.Fold(round, raw, public); err != nil {
			t.Fatal(err)
		}
	}
	return worst
}

// The published scheme in memory: factors and raw state agree to the last bit, the
// noise included, which is what private factors without noise never do.
func TestPublishedFactorsTakeTheNoise(t *testing.T) {
	c := logisticConfig()
	c.Beta, c.Factors = 0, FactorsNoisy
	ls, _ := parties(t, c, 3)
	r := rand.New(rand.NewPCG(4, 4))
	h := run(t, c, ls, func(round, party int) []int64 {
		z := make([]int64, c.Dim())
		for i := range z {
			z[i] = int64(r.NormFloat64() * 1e5)
		}
		return z
	}, 4)
	rest := slices.Clone(h.Final())
	for i, x := range c.Initial() {
		rest[i] -= x
	}
	for i, l := range ls {
		rows, err := l.factors(h.States[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for j, x := range row {
				rest[j] -= x
			}
		}
	}
	for i, x := range rest {
		if x != 0 {
			t.Errorf("coordinate %d: %d units are nobody's", i, x)
		}
	}
}

// factors returns the private factors in a state in raw units: a row for each shard, or, if
// factors are the party's released updates, a single one. Simulators use them to check the
// invariant. Except for released ones they are secret.
func (l *Learner) factors(state []byte) ([][]int64, error) {
	st, err := l.cfg.decode(kindState, state)
	if err != nil {
		return nil, fmt.Errorf("factors: %w", err)
	}
	return st.rows, nil
}
