package result

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// TestNoiseOfScores: noise on sums of scores moves the means of the last state as far as learningNoise
// expects, within a quarter, where clips cut some terms: 200 runs have the standard deviation of three means
// to a twentieth.
func TestNoiseOfScores(t *testing.T) {
	const rounds, runs, rows = 12, 200, 400
	c := pvi.Config{Model: bayes.Linear, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: rows, ShardRows: 1},
		Features: 3, PriorPrecision: 1, PrecisionFloor: 1, NoiseSD: 0.7, Clip: 8, FracBits: 20, DampingBits: 16,
		Damping: 0.2, Beta: 1, PrecisionUnit: 0.5, ClipHalvings: 2, CurvatureFrom: rounds + 1, CurvatureBound: 8,
		StartPrecision: 400}
	r := rand.New(rand.NewPCG(7, 7))
	var data bayes.Data
	for range rows {
		x := []float64{r.NormFloat64(), r.NormFloat64(), 1}
		data.X = append(data.X, x...)
		data.Y = append(data.Y, 0.8*x[0]-0.4*x[1]+0.3+0.5*r.NormFloat64())
	}
	l, err := pvi.NewLearner(c, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	sd := math.Ldexp(30, int(c.FracBits))
	var q *bayes.Posterior
	var sums, squares [3]float64
	for range runs {
		raw := c.Initial()
		for round := 1; round <= rounds; round++ {
			p, err := l.Propose(t.Context(), round, raw, l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Update {
				p.Update[i] += int64(sd * r.NormFloat64())
			}
			if raw, err = c.Fold(round, raw, p.Update); err != nil {
				t.Fatal(err)
			}
		}
		if q, err = c.Posterior(raw); err != nil {
			t.Fatal(err)
		}
		for j, m := range q.Mean() {
			sums[j] += m / runs
			squares[j] += m * m / runs
		}
	}
	plan := &protocol.Plan{Noise: protocol.NoiseCompute, Variance: uint64(sd * sd), FracBits: c.FracBits,
		Rounds: rounds, Members: []protocol.Member{{Role: protocol.RoleCompute}}}
	all, _ := learningNoise(plan, &app.PVI{PVI: c}, q)
	for j, want := range all {
		got := math.Sqrt(squares[j] - sums[j]*sums[j])
		if !(math.Abs(got/want-1) < 0.25) {
			t.Errorf("weight %d: the noise has the deviation %.4f, expected %.4f", j, got, want)
		}
	}
}
