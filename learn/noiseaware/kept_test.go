package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// Of noise alone the estimate of James and Stein keeps at most the share 2/d of the mean's square, on
// average [JS61]; d is 20. Over 400 draws its standard error is below .02. A long signal it keeps.
func TestKept(t *testing.T) {
	const d, draws = 20, 400
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(weight float64) Diagonal {
		out := Diagonal{Prior: 1, Point: make([]float64, d), Origin: make([]float64, d),
			PrecisionNoise: make([]float64, d)}
		for range d {
			out.Precision = append(out.Precision, 100)
			out.ScoreNoise = append(out.ScoreNoise, 1e4)
			out.Scores = append(out.Scores, 100*weight+100.5*r.NormFloat64())
		}
		return out
	}
	var whole, left float64
	for range draws {
		noise := draw(0)
		m, _ := noise.Posterior()
		short, single := noise.Kept()
		whole += floats.Dot(m.Mean, m.Mean)
		left += floats.Dot(short.Mean, short.Mean)
		for i, v := range single.Variance {
			if v < short.Variance[i] || v > 1/noise.Prior {
				t.Fatalf("variance %v of a single weight, %v in predictions", v, short.Variance[i])
			}
		}
	}
	if share := left / whole; !(share > 0 && share < 2.0/d+0.06) {
		t.Errorf("keeps the share %v of the square of noise", share)
	}
	signal := draw(10)
	m, _ := signal.Posterior()
	short, _ := signal.Kept()
	if share := floats.Norm(short.Mean, 2) / floats.Norm(m.Mean, 2); share < 0.98 {
		t.Errorf("keeps the share %v of a signal of ten standard deviations", share)
	}
}

// Two thousand weights of which the rounds tell nothing leave alone what is kept of twenty that they know
// well. By the weights' own lengths nearly all of the mean would go.
func TestKeptByPrecision(t *testing.T) {
	const known, all = 20, 2020
	zeros := func() []float64 { return make([]float64, all) }
	d := Diagonal{Prior: 1, Floor: 1, Precision: zeros(), Point: zeros(), Origin: zeros(),
		Scores: zeros(), ScoreNoise: zeros(), PrecisionNoise: zeros()}
	for i := range all {
		d.Precision[i], d.ScoreNoise[i] = 1, 4
		if i < known {
			d.Precision[i], d.ScoreNoise[i], d.Scores[i] = 1e4, 1e4, 1e4
		}
	}
	m, _ := d.Posterior()
	short, _ := d.Kept()
	if share := short.Mean[0] / m.Mean[0]; share < 0.98 {
		t.Errorf("keeps the share %v of what is known well", share)
	}
}

// Noise whose squared length is two of its standard deviations above the expected one, as in one of forty
// sessions, is 1 + 2c times as long with c the root of 2/d. Without a chance its square keeps the share
// (1 - (1 - 2/d)/(1 + 2c))^2, which is .20 for d of 20. With a chance of 1 it is
// (1 - (1 + c - 2/d)/(1 + 2c))^2, or .065.
func TestKeptByChance(t *testing.T) {
	const d = 20
	long := Diagonal{Prior: 1, Point: make([]float64, d), Origin: make([]float64, d),
		PrecisionNoise: make([]float64, d)}
	each := 1e4 * (1 + 2*math.Sqrt(2.0/d))
	for i := range d {
		long.Precision = append(long.Precision, 100)
		long.ScoreNoise = append(long.ScoreNoise, 1e4)
		long.Scores = append(long.Scores, math.Sqrt(each)*float64(1-i%2*2))
	}
	m, _ := long.Posterior()
	for _, tc := range []struct{ chance, low, high float64 }{{0, 0.17, 0.23}, {1, 0.05, 0.08}} {
		long.Chance = tc.chance
		short, _ := long.Kept()
		share := floats.Dot(short.Mean, short.Mean) / floats.Dot(m.Mean, m.Mean)
		if share < tc.low || share > tc.high {
			t.Errorf("chance %v: keeps the share %v of the square", tc.chance, share)
		}
	}
}
