package pvi

import (
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

// oneRow is a logistic configuration of a record a shard with curvature rounds at the end.
func oneRow(rounds int) Config {
	c := logisticConfig()
	c.Beta = 0
	c.Clip = 3
	c.Damping = 0.2
	c.StartPrecision = 4
	c.Strategy = Virtual{Shards: 4096, ShardRows: 1, Fit: Fit{Optimiser: Natural, Steps: 1, LearningRate: 1}}
	c.CurvatureFrom = rounds + 1
	c.CurvatureBound = 3
	return c
}

// TestCurvatureRoundsKeepTheState: neither the public state nor a factor changes.
func TestCurvatureRoundsKeepTheState(t *testing.T) {
	c := oneRow(2)
	l := learner(t, c, dense(c, 4, 30), 1)
	if p := keepsState(t, c, l, 3); slices.Max(p.Update) == 0 {
		t.Error("the update is empty")
	}
}

// keepsState returns what a learner proposes in its first round, under this number, which must change
// neither the public state nor a factor.
func keepsState(t *testing.T, c Config, l *Learner, round int) Proposal {
	t.Helper()
	state := l.InitialState()
	p := propose(t, l, round, c.Initial(), state)
	next, err := c.Fold(round, c.Initial(), p.Update)
	if err != nil || !slices.Equal(next, c.Initial()) {
		t.Errorf("state %v, update %v, %v", next, p.Update, err)
	}
	before, err := l.factors(state)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.factors(settle(t, l, round, state, p))
	if err != nil || !slices.EqualFunc(before, after, slices.Equal) {
		t.Errorf("factors changed, %v", err)
	}
	return p
}

// TestCurvatureSensitivity: one record moves the sum of a curvature round by at most the
// sensitivity, however large the record is.
func TestCurvatureSensitivity(t *testing.T) {
	c := oneRow(2)
	data := dense(c, 5, 30)
	limit, err := c.Sensitivity(ReplaceRecord)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.0
	for _, factor := range []float64{-30, 0.1, 1e3, 1e200} {
		other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
		for j := range c.Features {
			other.X[7*c.Features+j] *= factor
		}
		a, b := learner(t, c, data, 1), learner(t, c, other, 1)
		for round := 3; round < 3+c.CurvatureSlices(); round++ {
			pa, pb := propose(t, a, round, c.Initial(), a.InitialState()), propose(t, b, round, c.Initial(),
				b.InitialState())
			square := 0.0
			for i, x := range pa.Update {
				d := float64(x - pb.Update[i])
				square += d * d
			}
			most = max(most, math.Sqrt(square)/float64(limit))
		}
	}
	if most > 1 || most < 0.05 {
		t.Errorf("a record moves the sum by %.3f of the sensitivity", most)
	}
}

// climbingConfig takes two noisy natural-gradient steps a round, with curvature rounds from one on.
func climbingConfig(m bayes.Model, from int) Config {
	c := logisticConfig()
	if m == bayes.Linear {
		c = linearConfig(gauss.MeanField)
		c.StartPrecision = 4
	}
	c.Beta = 0
	c.Damping = 0.4
	c.DampingDecay = 0
	c.Clip = 0
	c.Strategy = Optimisation{Optimiser: Natural, SDUnit: 4, Steps: 2, LearningRate: 0.3}
	c.CurvatureFrom = from
	c.CurvatureBound = 3
	return c
}

// TestClimbCurvatureSensitivity: one record moves every release of a curvature round by at most the
// sensitivity, however large it is, and the round leaves state and factor.
func TestClimbCurvatureSensitivity(t *testing.T) {
	for _, m := range []bayes.Model{bayes.Logistic, bayes.Linear} {
		c := climbingConfig(m, 2)
		c.Clip = 0.5
		limit, err := c.Sensitivity(ReplaceRecord)
		if err != nil {
			t.Fatal(err)
		}
		data := dense(c, 5, 30)
		most := 0.0
		for _, factor := range []float64{-30, 0.1, 1e3, 1e200} {
			other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
			for j := range c.Features {
				other.X[7*c.Features+j] *= factor
			}
			// The mean of two equal releases.
			a, b := noised(t, learner(t, c, data, 1), 0, 1), noised(t, learner(t, c, other, 1), 0, 1)
			for round := 2; round < 2+c.CurvatureSlices(); round++ {
				state := a.InitialState()
				pa := propose(t, a, round, c.Initial(), state)
				pb := propose(t, b, round, c.Initial(), b.InitialState())
				diff := make([]int64, c.Dim())
				for i := range diff {
					diff[i] = pa.Update[i] - pb.Update[i]
				}
				if !fixedpoint.NormSquaredAtMost(diff, limit) {
					t.Errorf("%s: a release moved by more than %d", m, limit)
				}
				most = max(most, norm(diff)/float64(limit))
				next, err := c.Fold(round, c.Initial(), pa.Update)
				if err != nil || !slices.Equal(next, c.Initial()) {
					t.Errorf("%s: the state changed, %v", m, err)
				}
				before, err := a.factors(state)
				if err != nil {
					t.Fatal(err)
				}
				after, err := a.factors(settle(t, a, round, state, pa))
				if err != nil || !slices.EqualFunc(before, after, slices.Equal) {
					t.Errorf("%s: factors changed, %v", m, err)
				}
			}
		}
		if most < 0.05 {
			t.Errorf("%s: a record moved a release by %.3f of the sensitivity at most", m, most)
		}
	}
}
