//go:build !race

package reading

import (
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
)

// TestColumnsThatBelongTogether: where a factor with a few values is in many columns, the posterior
// that counts the noise predicts hardly worse than the public one. Weights are good together only:
// shrunk one by one by their own noise they would lose .02 here. By the louder noise they would lose
// .035 if the share that is kept of the mean were that of weights that do not belong together.
//
// Not under the race detector: nothing here runs concurrently.
func TestColumnsThatBelongTogether(t *testing.T) {
	const rounds, columns, rows = 40, 24, 3000
	r := rand.New(rand.NewPCG(5, 6))
	c := oneRow(rounds)
	c.Features, c.CurvatureFrom, c.CurvatureBound = columns+1, 0, 0
	c.Damping, c.DampingDecay, c.PrecisionFloor, c.StartPrecision = 0.1, 0, 60, 100
	var data bayes.Data
	for range rows {
		kind := r.IntN(3)
		row := make([]float64, columns+1)
		for j := range columns {
			if is := j%3 == kind; is == (r.Float64() < 0.97) {
				row[j] = 1
			}
		}
		row[columns] = 1
		y := 0.0
		if r.Float64() < []float64{0.03, 0.5, 0.97}[kind] {
			y = 1
		}
		data.X, data.Y = append(data.X, row...), append(data.Y, y)
	}
	together(t, c, data, rounds, 5)
	together(t, c, data, rounds, 30)
}

// together holds the posterior that counts the noise to the public one.
func together(t *testing.T, c pvi.Config, data bayes.Data, rounds int, sd float64) {
	t.Helper()
	trace := observe(t, c, data, rounds, sd)
	for i := range trace {
		trace[i].Records = float64(data.Rows())
	}
	last := trace[rounds-1]
	raw, err := c.Fold(rounds, last.Raw, last.Sum)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := c.Posterior(raw)
	if err != nil {
		t.Fatal(err)
	}
	aware, err := NoiseAware(c, trace)
	if err != nil {
		t.Fatal(err)
	}
	a, err := plain.Evaluate(data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := aware.Evaluate(data)
	if err != nil {
		t.Fatal(err)
	}
	if b.LogLikelihood < a.LogLikelihood-0.005 {
		t.Errorf("noise %v: %.4f, and %.4f with the noise counted", sd, a.LogLikelihood, b.LogLikelihood)
	}
}
