package stats

import (
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"choir/learn/bayes"
)

func seeded(b ...byte) *mathrand.ChaCha8 {
	var seed [32]byte
	copy(seed[:], b)
	return mathrand.NewChaCha8(seed)
}

func small() Config {
	return Config{Features: 3, PriorPrecision: 1, NoiseSD: 0.5, Bound: 1, TargetBound: 1, Radius: 8,
		FracBits: 10, Records: 200, MaxRecords: 1 << 12}
}

// line are n rows whose features and targets lie on the grid 2^-6, so that no scaling
// rounds them.
func line(seed byte, n, d int) bayes.Data {
	rng := mathrand.New(seeded(seed))
	grid := func(v float64) float64 { return float64(int(v*64)) / 64 }
	var data bayes.Data
	for range n {
		y := 0.2 * rng.NormFloat64()
		for j := range d {
			x := grid(0.4 * rng.NormFloat64())
			if j == d-1 {
				x = 1
			}
			y += x * (0.5 - 0.3*float64(j))
			data.X = append(data.X, x)
		}
		data.Y = append(data.Y, grid(y))
	}
	return data
}

func learners(t testing.TB, cfg Config, noise float64, parts ...bayes.Data) (ls []*Learner) {
	t.Helper()
	for _, part := range parts {
		l, err := NewLearner(cfg, part, noise)
		if err != nil {
			t.Fatal(err)
		}
		ls = append(ls, l)
	}
	return ls
}

func containsField(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), ": "+field+" is ")
}

// signal are records of standard normal columns and a bias, whose targets are about 1 long and residuals a
// quarter, with the weights.
func signal(rng *mathrand.Rand, n, d int) (data bayes.Data, truth []float64) {
	for range d {
		truth = append(truth, 0.43*float64(1-2*rng.IntN(2)))
	}
	for range n {
		y := 0.25 * rng.NormFloat64()
		for j := range d {
			x := 1.0
			if j < d-1 {
				x = rng.NormFloat64()
			}
			y += x * truth[j]
			data.X = append(data.X, x)
		}
		data.Y = append(data.Y, y)
	}
	return data, truth
}
