package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/learn/noiseaware/internal/shrink"
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

// Noise whose squared length is two of its standard deviations above the expected one, as in one of
// forty sessions, is 1 + 2c times as long with c the root of 2/d. Without a chance the share (1 - (1 -
// 2/d)/(1 + 2c)) is kept, which is .449 for d of 20. With a chance of 1 it is (1 - (1 + c - 2/d)/(1 +
// 2c)), or .255.
func TestKeptByChance(t *testing.T) {
	const d = 20
	noise := make([]float64, d)
	for i := range noise {
		noise[i] = 3
	}
	length := 3 * d * (1 + 2*math.Sqrt(2.0/d))
	for _, tc := range []struct{ chance, want float64 }{{0, 0.4487}, {1, 0.2550}, {5, 0}} {
		if got := shrink.Kept(length, noise, tc.chance); math.Abs(got-tc.want) > 1e-4 {
			t.Errorf("chance %v: keeps the share %v, want %v", tc.chance, got, tc.want)
		}
	}
}

// Of slopes alone a power of the share is kept, and the intercept whole. Clips that have left a
// quarter of the records' factors leave a quarter of the variance by sampling per precision, so that
// more of the same scores is signal.
func TestKeptSlopes(t *testing.T) {
	const d = 21
	r := rand.New(rand.NewPCG(3, 4))
	at := Diagonal{Prior: 1e-6, Point: make([]float64, d), Origin: make([]float64, d),
		PrecisionNoise: make([]float64, d)}
	for range d {
		at.Precision = append(at.Precision, 100)
		at.ScoreNoise = append(at.ScoreNoise, 50)
		at.Scores = append(at.Scores, 16*r.NormFloat64())
	}
	whole, _ := at.Posterior()
	slopes := at
	slopes.Scores, slopes.Precision, slopes.ScoreNoise = at.Scores[:d-1], at.Precision[:d-1], at.ScoreNoise[:d-1]
	slopes.Point, slopes.Origin, slopes.PrecisionNoise = at.Point[:d-1], at.Origin[:d-1], at.PrecisionNoise[:d-1]
	alone, _ := slopes.Kept()
	m, single := at.KeptSlopes()
	if m.Mean[d-1] != whole.Mean[d-1] {
		t.Errorf("moves the intercept from %v to %v", whole.Mean[d-1], m.Mean[d-1])
	}
	share, root := alone.Mean[0]/whole.Mean[0], m.Mean[0]/whole.Mean[0]
	if !(share > 0.1 && share < 0.9) || math.Abs(math.Pow(root, 1/together)-share) > 1e-6 {
		t.Errorf("keeps the share %v of slopes, and %v is not its power", share, root)
	}
	at.Answered = 0.25
	answered, _ := at.KeptSlopes()
	// The noise is (.25 100 + 50)/(100 + 50) of what it was.
	want := math.Pow(1-(1-share)/2, together)
	if got := answered.Mean[0] / whole.Mean[0]; math.Abs(got-want) > 1e-6 {
		t.Errorf("keeps %v where clips left a quarter, want %v", got, want)
	}
	if single.Variance[0] < m.Variance[0] {
		t.Errorf("variance %v of a single weight, %v in predictions", single.Variance[0], m.Variance[0])
	}
}
