package reading

import (
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// logisticConfig is a small private configuration.
func logisticConfig() pvi.Config {
	return pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 3, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}}, Features: 4,
		PriorPrecision: 1, Clip: 0.05, FracBits: 20, DampingBits: 16, Damping: 0.1,
		DampingDecay: 0.1, Beta: 0.75, PrecisionFloor: 1,
	}
}

// linearConfig is a small configuration without clipping or damping.
func linearConfig(f gauss.Family) pvi.Config {
	return pvi.Config{
		Model: bayes.Linear, Family: f, Strategy: pvi.Dataset{}, Features: 4, PriorPrecision: 1,
		NoiseSD: 0.5, FracBits: 20, DampingBits: 16, Damping: 1, PrecisionFloor: 1,
	}
}

func clippedLinear(f gauss.Family) pvi.Config {
	c := linearConfig(f)
	c.Clip, c.Damping = 0.5, 0.2
	c.DampingDecay, c.Beta = 0.1, 0.5
	c.Strategy = pvi.Virtual{Shards: 3}
	return c
}

// residualConfig is linear regression of a record a shard whose rounds from one on sum squares of residuals.
func residualConfig(f gauss.Family, from int) pvi.Config {
	c := clippedLinear(f)
	c.Beta = 0
	c.Clip = 60
	c.Features = 3
	c.NoiseSD = 0.7
	c.StartPrecision = 20
	c.Strategy = pvi.Virtual{Shards: 4096, ShardRows: 1}
	c.ResidualFrom = from
	return c
}

// dense is n records of a model from a seed, the last feature a bias.
func dense(c pvi.Config, seed uint64, n int) bayes.Data {
	r := rand.New(rand.NewPCG(seed, 3))
	d := bayes.Data{X: make([]float64, n*c.Features), Y: make([]float64, n)}
	for i := range d.Y {
		row := d.X[i*c.Features : (i+1)*c.Features]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		signal := 2 * row[0]
		if c.Features > 1 {
			row[c.Features-1] = 1
			signal = 1.5*row[0] - row[1] + 0.5
		}
		d.Y[i] = signal + c.NoiseSD*r.NormFloat64()
		if c.Model == bayes.Logistic {
			d.Y[i] = 0
			if signal+r.NormFloat64() > 0 {
				d.Y[i] = 1
			}
		}
	}
	return d
}

// learner makes a party or fails the test.
func learner(t testing.TB, c pvi.Config, d bayes.Data, weight float64) *pvi.Learner {
	t.Helper()
	l, err := pvi.NewLearner(c, d, weight)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// add makes a party's proposal for a round, adds it to the sum, and returns the party's next state.
func add(t testing.TB, sum []int64, l *pvi.Learner, round int, raw []int64, state []byte) []byte {
	t.Helper()
	p, err := l.Propose(t.Context(), round, raw, state)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range p.Update {
		sum[i] += x
	}
	if state, err = l.Settle(round, state, p.Memo); err != nil {
		t.Fatal(err)
	}
	return state
}

// fold is the state after a round.
func fold(t testing.TB, c pvi.Config, round int, raw, sum []int64) []int64 {
	t.Helper()
	next, err := c.Fold(round, raw, sum)
	if err != nil {
		t.Fatal(err)
	}
	return next
}
