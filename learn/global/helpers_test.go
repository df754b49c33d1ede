package global

import (
	"io"
	"math"
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
	return Config{Model: bayes.Logistic, Features: 4, PriorPrecision: 1, InitialSD: 0.5, Clip: 2, FracBits: 19,
		SampleRate: 1, Records: 300, MaxRecords: 1 << 12,
		Optimiser: Adam, LearningRate: 0.05}
}

// classes are n rows over d features, the last one a bias, with labels drawn from a
// logistic model.
func classes(seed byte, n, d int) bayes.Data {
	rng := mathrand.New(seeded(seed))
	var data bayes.Data
	for range n {
		a := 0.0
		for j := range d {
			x := rng.NormFloat64()
			if j == d-1 {
				x = 1
			}
			a += x * float64(1-j)
			data.X = append(data.X, x)
		}
		y := 0.0
		if rng.Float64() < 1/(1+math.Exp(-a)) {
			y = 1
		}
		data.Y = append(data.Y, y)
	}
	return data
}

func learner(t testing.TB, cfg Config, data bayes.Data) *Learner {
	t.Helper()
	l, err := NewLearner(cfg, data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func onSeeds(b ...byte) func(int) io.Reader {
	readers := map[int]io.Reader{}
	return func(party int) io.Reader {
		if readers[party] == nil {
			readers[party] = seeded(append(b, byte(party))...)
		}
		return readers[party]
	}
}

func containsField(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), ": "+field+" is ")
}
