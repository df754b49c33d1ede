package threat

import (
	"errors"
	"math"
	mathrand "math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"choir/privacy"
)

// TestClopperPearson compares the limits with sums of binomial probabilities, and
// with the closed forms for no hit and for hits only.
func TestClopperPearson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		hits := rapid.IntRange(0, n).Draw(t, "hits")
		alpha := math.Pow(10, -rapid.Float64Range(0.5, 12).Draw(t, "-log10 alpha"))
		lo, hi := LowerRate(hits, n, alpha), UpperRate(hits, n, alpha)
		if !(lo >= 0 && lo <= float64(hits)/float64(n) && float64(hits)/float64(n) <= hi && hi <= 1) {
			t.Fatalf("limits %v, %v around %d of %d", lo, hi, hits, n)
		}
		if hits > 0 {
			turns(t, "lower", tail(n, lo, hits, n), tail(n, beyond(lo, 1), hits, n), alpha)
		}
		if hits < n {
			turns(t, "upper", tail(n, hi, 0, hits), tail(n, beyond(hi, 0), 0, hits), alpha)
		}
	})
	if got, want := UpperRate(0, 1000, 1e-5), 1-math.Pow(1e-5, 1e-3); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("no hit: upper limit %v, want %v", got, want)
	}
	if LowerRate(0, 10, 0.1) != 0 || UpperRate(10, 10, 0.1) != 1 {
		t.Error("the trivial limits aren't 0 and 1")
	}
}

// turns says that the tail is alpha at most at the limit and alpha at least at the
// nearest value on the other side. Between the two it can jump: near 1 a limit has no finer
// neighbours, so a relative tolerance would have to grow with 1/(1-p).
func turns(t *rapid.T, what string, at, past, alpha float64) {
	const computed = 1e-9 // the relative error of both ways to compute a tail
	if !(at <= alpha*(1+computed) && past >= alpha*(1-computed)) {
		t.Fatalf("%s limit: the tail is %v there and %v beside it, want %v between them", what, at, past, alpha)
	}
}

// beyond is the value nearest to p, towards 0 or 1, that the limits tell from it.
func beyond(p, towards float64) float64 {
	next := math.Nextafter(p, towards)
	if fine := p + math.Copysign(0x1p-60, towards-p); math.Abs(fine-p) > math.Abs(next-p) {
		next = fine
	}
	return next
}

// tail is the binomial probability of from..to, summed.
func tail(n int, p float64, from, to int) (sum float64) {
	for k := from; k <= to; k++ {
		log := -mathext.Lbeta(float64(k+1), float64(n-k+1)) - math.Log(float64(n+1))
		sum += math.Exp(log + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return sum
}

// TestCoverage runs the test 500 times on randomised response, whose
// epsilon is known exactly, at a false-alarm rate of 5%: alarms are at most
// binomial(500, 0.05), and more than 57 of them have a probability below 1e-8.
// Neither may it be idle: four fifths of the truth come out on average.
func TestCoverage(t *testing.T) {
	const runs, n, truth, limit = 500, 2000, 1.0, 57
	rng := mathrand.New(mathrand.NewPCG(3, 4))
	alarms, mean := 0, 0.0
	for range runs {
		f, err := Test{Delta: 0, FalseAlarm: 0.05}.Epsilon(responses(rng, n, truth, true),
			responses(rng, n, truth, false))
		if err != nil {
			t.Fatal(err)
		}
		mean += f.Epsilon / runs
		if f.Epsilon > truth {
			alarms++
		}
	}
	if alarms > limit {
		t.Errorf("%d of %d bounds lie above the truth, limit %d", alarms, runs, limit)
	}
	if s := (distuv.Binomial{N: runs, P: 0.05}).Survival(limit); s > 1e-8 {
		t.Errorf("the limit is passed with probability %v", s)
	}
	if mean < 0.8*truth {
		t.Errorf("mean bound %v of a truth of %v", mean, truth)
	}
}

// responses are true answers with probability e^epsilon / (1 + e^epsilon).
func responses(rng *mathrand.Rand, n int, epsilon float64, truth bool) []float64 {
	x := make([]float64, n)
	for i := range x {
		if (rng.Float64() < 1/(1+math.Exp(-epsilon))) == truth {
			x[i] = 1
		}
	}
	return x
}

// TestDirections: each of the four kinds of half line is found where it alone
// shows the leak.
func TestDirections(t *testing.T) {
	const n = 4000
	flat, leaky := make([]float64, n), make([]float64, n)
	for i := range n {
		flat[i] = float64(i % 10)
		if leaky[i] = flat[i]; i%10 == 9 {
			leaky[i] = 20
		}
	}
	for _, c := range []struct{ swapped, below bool }{
		{swapped: false, below: false},
		{swapped: false, below: true},
		{swapped: true, below: false},
		{swapped: true, below: true},
	} {
		p, q := leaky, flat
		if c.below {
			p, q = mirrored(p), mirrored(q)
		}
		if c.swapped {
			p, q = q, p
		}
		f, err := Test{Delta: 1e-5, FalseAlarm: 1e-4}.Epsilon(p, q)
		if err != nil {
			t.Fatal(err)
		}
		if f.Swapped != c.swapped || f.Below != c.below || math.Abs(f.Threshold) != 20 || f.Likely != n/10*3/4 ||
			f.Other != 0 || f.Samples != n*3/4 || f.Epsilon < 2.5 {
			t.Errorf("%+v: found %+v", c, f)
		}
	}
}

func mirrored(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = -x[i]
	}
	return out
}

// TestNothingToFind: equal distributions give no bound to speak of; neither does
// a difference that delta covers.
func TestNothingToFind(t *testing.T) {
	rng := mathrand.New(mathrand.NewPCG(5, 6))
	p, q := make([]float64, 1<<14), make([]float64, 1<<14)
	for i := range p {
		p[i], q[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	if f, err := (Test{Delta: 1e-5, FalseAlarm: 1e-4}).Epsilon(p, q); err != nil || f.Epsilon != 0 {
		t.Errorf("equal distributions: %+v, %v", f, err)
	}
	if e := privacy.GaussianEpsilon(0.1, 0.05); e != 0 {
		t.Fatalf("a shift of 0.1 costs %v at delta 0.05", e)
	}
	for i := range p {
		p[i] += 0.1
	}
	if f, err := (Test{Delta: 0.05, FalseAlarm: 1e-4}).Epsilon(p, q); err != nil || f.Epsilon != 0 {
		t.Errorf("a difference below delta: %+v, %v", f, err)
	}
}

func TestRefusals(t *testing.T) {
	good, ok := []float64{1, 2, 3, 4}, Test{Delta: 1e-5, FalseAlarm: 0.01}
	for _, c := range []struct {
		test Test
		p, q []float64
	}{
		{Test{-1, 0.1}, good, good}, {Test{1, 0.1}, good, good}, {Test{math.NaN(), 0.1}, good, good},
		{Test{0, 0}, good, good}, {Test{0, 1}, good, good}, {Test{0, math.NaN()}, good, good},
		{ok, nil, good}, {ok, good, []float64{1, 2, 3}}, {ok, []float64{1, 2, 3, math.NaN()}, good},
	} {
		if _, err := c.test.Epsilon(c.p, c.q); !errors.Is(err, ErrTest) {
			t.Errorf("%+v on %v, %v: %v", c.test, c.p, c.q, err)
		}
	}
	if _, err := ok.Epsilon(good, good); err != nil {
		t.Error(err)
	}
}
