package newton

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
)

// TestSureOfOdds: of eight slopes of which little is known, and an intercept, means that are twice as long
// as the posterior's lose more than .01 of a log-likelihood to even odds in half of 100 sessions. What is
// kept of them loses that in few, and gains on average: two standard deviations are one session of 44.
func TestSureOfOdds(t *testing.T) {
	const d, sessions, sd, noise = 9, 100, 0.7, 1.2
	r := rand.New(rand.NewPCG(21, 22))
	normal := func(mean []float64, sd float64) []float64 {
		v := make([]float64, d)
		for i := range v {
			v[i] = mean[i] + sd*r.NormFloat64()
		}
		return v
	}
	var before, after int
	gained := 0.0
	for range sessions {
		truth := normal(make([]float64, d), sd)
		seen := normal(truth, noise)
		kept := sd * sd / (sd*sd + noise*noise)
		floats.Scale(kept, seen)
		var draws [][]float64
		for range 500 {
			draws = append(draws, normal(seen, sd*math.Sqrt(1-kept)))
		}
		m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
		floats.AddScaled(m.Mean, 2, seen)
		if overOdds(r, truth, m.Mean) < -0.01 {
			before++
		}
		shorten(m, draws, false)
		gain := overOdds(r, truth, m.Mean)
		if gain < -0.01 {
			after++
		}
		gained += gain / sessions
	}
	t.Logf("%d sessions lose, %d of what is kept; mean gain %.4f", before, after, gained)
	if before < 30 || after > 7 || gained < 0.01 {
		t.Errorf("%d sessions lose, %d of what is kept; mean gain %.4f", before, after, gained)
	}
}

// TestOneShare: where columns may be off their centres slopes and intercept keep one share, so that logits
// of records far from where columns are taken to lie are shortened and never turned. Each by itself would
// keep all of the intercept and little of the slopes, whose logits it makes up for: those of this mean are 0
// on average and would be -3.
func TestOneShare(t *testing.T) {
	const slope, intercept, off = 1.5, -3.0, 2.0
	r := rand.New(rand.NewPCG(5, 6))
	for _, ranged := range []bool{true, false} {
		m := &gauss.Moments{Mean: []float64{slope, intercept}, Variance: []float64{0, 0}}
		var draws [][]float64
		for range 4000 {
			draws = append(draws, []float64{0.2 + r.NormFloat64(), intercept})
		}
		shorten(m, draws, ranged)
		logit := m.Mean[0]*off + m.Mean[1]
		if kept := m.Mean[1] / intercept; ranged != (math.Abs(logit) < 1e-9) || kept <= 0 || kept > 1 {
			t.Errorf("ranged %v: %v, a logit of %g", ranged, m.Mean, logit)
		}
	}
}

// overOdds is what logits by a mean gain of a record's log-likelihood over even odds, if others are true.
func overOdds(r *rand.Rand, truth, mean []float64) float64 {
	const n = 2000
	out := 0.0
	x := make([]float64, len(mean))
	for range n {
		for i := range x {
			x[i] = r.NormFloat64()
		}
		x[len(x)-1] = 1
		p, l := 1/(1+math.Exp(-floats.Dot(x, truth))), floats.Dot(x, mean)
		out += (p*l - math.Log1p(math.Exp(l)) + math.Ln2) / n
	}
	return out
}
