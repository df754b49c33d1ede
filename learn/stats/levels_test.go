package stats

import (
	"math"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// levelled are n records of a column and of a category of some levels, whose last is rare, with the weights.
// A share of the records has no level. All values but targets are on the grid 2^-6.
func levelled(rng *mathrand.Rand, n, levels int, without float64) (data bayes.Data, truth []float64) {
	for range levels + 2 {
		truth = append(truth, 0.4*rng.NormFloat64())
	}
	for range n {
		x := make([]float64, levels+2)
		x[0], x[levels+1] = math.Round(64*rng.NormFloat64())/64, 1
		if rng.Float64() >= without {
			x[1+min(rng.IntN(8*levels)/8, levels-1-rng.IntN(2))] = 1
		}
		data.X = append(data.X, x...)
		data.Y = append(data.Y, floats.Dot(x, truth)+0.25*rng.NormFloat64())
	}
	return data, truth
}

// TestLevelsAreExact: the shift of all levels against the intercept, of which records tell nothing, is as the
// prior has it: without noise the posterior is the conjugate one. Where a tenth of the records has no level
// they tell of it.
func TestLevelsAreExact(t *testing.T) {
	for _, without := range []float64{0, 0.1} {
		const levels = 4
		cfg := small()
		cfg.Features, cfg.FracBits, cfg.Radius, cfg.Levels = levels+2, 16, 32, [][2]int{{1, 1 + levels}}
		data, _ := levelled(mathrand.New(seeded(1)), 200, levels, without)
		raw, err := run(t.Context(), cfg, learners(t, cfg, 0, data.Split(4)...), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.Posterior(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		mean, precision := exact(data, cfg.Features, 1, cfg.NoiseSD)
		if !floats.EqualApprox(p.Mean, mean, 1e-4) {
			t.Errorf("mean %.6f, want %.6f", p.Mean, mean)
		}
		var one mat.Dense
		one.Mul(p.Covariance, precision)
		for i := range cfg.Features {
			one.Set(i, i, one.At(i, i)-1)
		}
		if off := mat.Norm(&one, 2); off > 1e-3 {
			t.Errorf("%g without a level: the covariance times the precision is off 1 by %g", without, off)
		}
	}
}

// TestLevelsUnderNoise: noise adds nothing to what is known of that shift: nine of ten 90 % intervals of
// single levels and of the intercept cover at least, and by statistics that don't know of levels two of
// three. The prior is several times as wide as the weights, so that one in a thousand is outside. Residuals
// are within a tenth of what they are.
func TestLevelsUnderNoise(t *testing.T) {
	const sessions, levels, records, sd = 8, 6, 1500, 100.0
	cfg := Config{Features: levels + 2, PriorPrecision: 1, Bound: 1, TargetBound: 20, Radius: 4, FracBits: 8,
		Records: records, MaxRecords: 1 << 13, MomentRounds: 1, ResidualFrom: 5, Levels: [][2]int{{1, 1 + levels}},
		Bounds: []float64{4, 1, 1, 1, 1, 1, 1}}
	inside := 0
	for k := range sessions {
		rng := mathrand.New(seeded(byte(k), 3))
		data, truth := levelled(rng, records, levels, 0)
		raw := math.Ldexp(sd, 2*int(cfg.FracBits))
		state, err := run(t.Context(), cfg, learners(t, cfg, raw*raw, data), func(_ int, sum []int64) error {
			for i := range sum {
				sum[i] += int64(raw * rng.NormFloat64())
			}
			return nil
		}, 10)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.Posterior(state, raw*raw)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.NoiseSD/0.25-1) > 0.1 {
			t.Errorf("session %d: residuals of %.3f, want 0.25", k, p.NoiseSD)
		}
		for j, w := range truth {
			if math.Abs(p.Mean[j]-w) < 1.645*math.Sqrt(p.Covariance.At(j, j)) {
				inside++
			}
		}
	}
	if share := float64(inside) / (sessions * (levels + 2)); share < 0.9 {
		t.Errorf("90 %% intervals cover %.3f", share)
	}
}
