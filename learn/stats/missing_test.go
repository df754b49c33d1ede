package stats

import (
	"math"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/internal/absent"
)

// TestMissing: numbers that are missing at random, far from the middle of their range, hardly move slopes:
// with a fifth of a column missing its slope is that of the other records to 1 in 25, and predictions of
// records without it are the mean prediction. Taken for the middle of the range, they would halve it.
func TestMissing(t *testing.T) {
	cfg := small()
	cfg.MomentRounds, cfg.Radius, cfg.FracBits, cfg.PriorPrecision = 4, 20, 16, flat
	const rows, slope = 4000, 1.5
	cfg.Records, cfg.MaxRecords = rows, rows
	rng := mathrand.New(seeded(9))
	var d bayes.Data
	missing := 0
	for range rows {
		x := 0.6 + 0.1*rng.NormFloat64()
		z := 0.2 * rng.NormFloat64()
		d.Y = append(d.Y, slope*(x-0.6)+0.5*z+0.05*rng.NormFloat64())
		if rng.IntN(5) == 0 {
			x = absent.Number()
			missing++
		}
		d.X = append(d.X, x, z, 1)
	}
	if missing < rows/6 {
		t.Fatalf("%d numbers are missing", missing)
	}
	of := func(d bayes.Data) (slope float64, filled []float64) {
		raw, err := run(t.Context(), cfg, learners(t, cfg, 0, d.Split(2)...), nil, 6)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.Posterior(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		filled, err = cfg.Centres(raw)
		if err != nil {
			t.Fatal(err)
		}
		q, err := cfg.Predictive(raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Filled(filled).Predict([]float64{absent.Number(), 0.2, 1})
		want, err2 := q.Predict([]float64{filled[0], 0.2, 1})
		if err != nil || err2 != nil || got != want {
			t.Errorf("prediction %v without the number, %v at the centre (%v, %v)", got, want, err, err2)
		}
		return p.Mean[0], filled
	}
	got, centres := of(d)
	if math.Abs(got/slope-1) > 0.04 {
		t.Errorf("slope %.3f, want %g", got, slope)
	}
	// The mean of r rounds lacks the share e_r of the others' mean, with e_1 = f and r e_r = (r - 1 + f)
	// e_(r-1).
	f := float64(missing) / rows
	want := 0.6 * (1 - f*(1+f)*(2+f)*(3+f)/24)
	if math.Abs(centres[0]-want) > 0.005 || centres[2] != 0 {
		t.Errorf("centres %v, want %.3f and the bias's 0", centres, want)
	}
	middle := bayes.Data{X: slices.Clone(d.X), Y: d.Y}
	for i, x := range middle.X {
		middle.X[i] = absent.Present(x)
	}
	if got, _ := of(middle); got > 0.6*slope {
		t.Errorf("slope %.3f with numbers in the middle of the range: the comparison is empty", got)
	}
	none := cfg
	none.MomentRounds = 0
	if at, err := none.Centres(none.Initial()); at != nil || err != nil {
		t.Errorf("%v, %v without moment rounds", at, err)
	}
}
