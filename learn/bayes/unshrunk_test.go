package bayes_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// TestUnshrunkCovers computes how often 90 % intervals hold a weight w that is learnt through normal noise,
// from the law of the posterior's mean: at least .895 for every w up to the length that Unshrunk names, where
// the posterior's own interval holds the longest with probability .72 for a share of .5.
func TestUnshrunkCovers(t *testing.T) {
	const prior, level = 2.0, 1.6448536269514722
	for _, c := range []struct{ share, own float64 }{{0.01, 0.899}, {0.1, 0.881}, {0.3, 0.83}, {0.5, 0.724},
		{0.7, 0.856}, {0.9, 0.978}, {0.99, 1}} {
		v := c.share / prior
		q := posteriorOf(t, &gauss.Moments{Mean: []float64{0.3, -1}, Variance: []float64{v, v}})
		wide := q.Unshrunk([]float64{1 / prior, 1 / prior})
		before, err := q.Predict([]float64{1, -1})
		after, err2 := wide.Predict([]float64{1, -1})
		if err != nil || err2 != nil || before != after || !slices.Equal(wide.Mean(), q.Mean()) {
			t.Fatalf("mean %v of %v, prediction %v of %v (%v, %v)", wide.Mean(), q.Mean(), after, before, err, err2)
		}
		far := math.Sqrt((2 - c.share) / (1 - c.share) / prior)
		if c.share > 0.5 {
			far = math.Sqrt((1-c.share+c.share*c.share)/prior) / c.share
		}
		for part := range 21 {
			w := far * float64(part) / 20
			if got := holds(w, c.share, v, level*wide.SD()[0]); got < 0.895 {
				t.Errorf("share %g: %.3f of intervals hold %.3f", c.share, got, w)
			}
		}
		if !slices.Equal(wide.Shrunk(), q.SD()) || !slices.Equal(q.Shrunk(), q.SD()) {
			t.Errorf("share %g: under the prior %v and %v, want %v", c.share, wide.Shrunk(), q.Shrunk(), q.SD())
		}
		if got := holds(far, c.share, v, level*q.SD()[0]); math.Abs(got-c.own) > 0.005 {
			t.Errorf("share %g: %.3f of the posterior's own intervals hold %.3f, want %g", c.share, got, far, c.own)
		}
		if sd := wide.SD()[1]; sd > 1/math.Sqrt(prior)+1e-12 || sd < q.SD()[1] {
			t.Errorf("share %g: standard deviation %g", c.share, sd)
		}
	}
}

// holds is the probability that w is within reach of a mean that is shrunk to 0 by a share.
func holds(w, share, v, reach float64) float64 {
	sd := math.Sqrt((1 - share) * v)
	below := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	return below((share*w+reach)/sd) - below((share*w-reach)/sd)
}

// TestUnshrunkKeepsWider: a standard deviation that is more than the prior's stays.
func TestUnshrunkKeepsWider(t *testing.T) {
	q := posteriorOf(t, &gauss.Moments{Mean: []float64{0, 0}, Variance: []float64{1, 1}})
	mean, sd := []float64{5, 6}, []float64{2, 3}
	got := q.WithWeights(mean, sd).Unshrunk([]float64{1, 1})
	if !slices.Equal(got.SD(), sd) || !slices.Equal(got.Mean(), mean) {
		t.Errorf("%v ± %v", got.Mean(), got.SD())
	}
}

// TestUnshrunkOwnPriors: every weight goes by its own prior.
func TestUnshrunkOwnPriors(t *testing.T) {
	q := posteriorOf(t, &gauss.Moments{Mean: []float64{0, 0}, Variance: []float64{0.2, 0.2}})
	got := q.Unshrunk([]float64{1, 0.25}).SD()
	if math.Abs(got[0]-0.5) > 1e-12 || math.Abs(got[1]-0.5) > 1e-12 { // 1/(1/.2 - 1) = .25, and the prior's
		t.Errorf("standard deviations %v, want .5 and .5", got)
	}
}

// posteriorOf is the posterior of a logistic model with these moments.
func posteriorOf(t *testing.T, m *gauss.Moments) *bayes.Posterior {
	t.Helper()
	q, err := bayes.Likelihood{Model: bayes.Logistic, Features: len(m.Mean)}.With(m, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestLonger: where the prior may be wrong about a weight's length, 90 % intervals hold weights of every
// length up to so many of the prior's standard deviations; others keep theirs. A mean is the share 1-s of
// what was learnt alone, so that it has the law that holds asks for.
func TestLonger(t *testing.T) {
	const longer, level = 50.0, 1.6448536269514722
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, share := range []float64{0.01, 0.2, 0.7, 0.99} {
		for _, w := range []float64{0, 1, 7, 30} {
			const n = 2000
			in := 0
			for range n {
				alone := w + math.Sqrt(share/(1-share))*rnd.NormFloat64()
				m := &gauss.Moments{Mean: []float64{(1 - share) * alone, 0.5}, Variance: []float64{share, share}}
				q := posteriorOf(t, m).Unshrunk([]float64{1, 1})
				wide := q.Longer([]float64{1, 1}, []float64{longer, 1})
				if wide.SD()[1] != q.SD()[1] || wide.SD()[0] < q.SD()[0] || !slices.Equal(wide.Mean(), q.Mean()) ||
					!slices.Equal(wide.Shrunk(), q.Shrunk()) {
					t.Fatalf("%v after %v", wide.SD(), q.SD())
				}
				if math.Abs(w-wide.Mean()[0]) < level*wide.SD()[0] {
					in++
				}
			}
			if got := float64(in) / n; got < 0.88 { // three standard errors below .9
				t.Errorf("share %g: %.3f of intervals hold %g", share, got, w)
			}
		}
	}
	hidden := posteriorOf(t, &gauss.Moments{Mean: []float64{0}, Variance: []float64{1}})
	if got := hidden.Longer([]float64{1}, []float64{longer}).SD()[0]; got != longer {
		t.Errorf("where nothing was learnt the standard deviation is %g, want %g", got, longer)
	}
}
