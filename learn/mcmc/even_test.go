package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEvenWeights: at the true weights gradients and ratios that count by Query.even have the mean 0, and
// clipped ones do not. One column is rarely set, and one class is rare. A coordinate is further than 5
// standard errors from 0 with probability 6e-7.
func TestEvenWeights(t *testing.T) {
	const n, d, bound, step = 100_000, 3, 0.6, 0.001
	truth := []float64{1, 2, -2.5}
	rng := rand.New(rand.NewPCG(1, 2))
	r := data{d: d}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
		x := []float64{rng.NormFloat64(), 0, 1}
		if rng.Float64() < 0.05 {
			x[1] = 2
		}
		r.x = append(r.x, x...)
		y := 0.0
		if rng.Float64() < sigmoid(dot(x, truth)) {
			y = 1
		}
		r.y = append(r.y, y)
	}
	unit := triangle{d, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	slope := Query{kind: gradient, factor: unit, from: [][]float64{truth}, bound: bound}
	ways := Query{kind: ratios, from: slope.from, bound: bound * step}
	for k := range d {
		to := append([]float64(nil), truth...)
		to[k] += step
		ways.to = append(ways.to, to)
	}
	for name, q := range map[string]Query{"gradient": slope, "ratios": ways} {
		clipped, even := r.away(q, rows), r.away(q.evenly(bound), rows)
		t.Logf("%s: furthest mean in standard errors: clipped %.1f, even %.1f", name, clipped, even)
		if clipped < 20 {
			t.Errorf("%s: clipped means are %.1f standard errors from 0, want 20 or more", name, clipped)
		}
		if even > 5 {
			t.Errorf("%s: even means are %.1f standard errors from 0", name, even)
		}
	}
}

func (q Query) evenly(bound float64) Query {
	q.even = bound
	return q
}

// away is the furthest coordinate of the mean answer from 0, in its standard errors.
func (r *data) away(q Query, rows []int) float64 {
	d := len(r.x) / len(r.y)
	sum, squares := make([]float64, d), make([]float64, d)
	for _, row := range rows {
		answer := make([]int64, d)
		r.answers(q, []int{row}, answer)
		for k, v := range answer {
			sum[k] += float64(v)
			squares[k] += float64(v) * float64(v)
		}
	}
	most := 0.0
	for k := range sum {
		most = max(most, math.Abs(sum[k])/math.Sqrt(squares[k]))
	}
	return most
}
