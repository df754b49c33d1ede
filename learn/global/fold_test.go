package global

import (
	"fmt"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

// TestExp against big.Float's own arithmetic: a Taylor series of 200 bits.
func TestExp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-50, 50).Draw(t, "x")
		sum, term := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
		for n := 1; n < 400; n++ {
			term.Mul(term, big.NewFloat(x).SetPrec(400))
			term.Quo(term, big.NewFloat(float64(n)))
			sum.Add(sum, term)
		}
		want, _ := sum.Float64()
		if got := exp(x); math.Abs(got-want) > 0x1p-50*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	})
}

// TestFoldIsAdam against the textbook's Adam in plain floating point, to the grid's
// resolution.
func TestFoldIsAdam(t *testing.T) {
	cfg := small()
	cfg.RateDecay = 0.01
	cfg.Averaging = 3
	cfg.SampleRate = 0.25
	n, rng := cfg.Dim(), mathrand.New(seeded(9))
	raw := cfg.Initial()
	x := make([]float64, n)
	m := make([]float64, n)
	v := make([]float64, n)
	mean := make([]float64, n)
	for s := 1; s <= 200; s++ {
		sum := make([]int64, n)
		for i := range sum {
			sum[i] = rng.Int64N(1<<24) - 1<<22
			g := math.Ldexp(float64(sum[i]), -19) / 0.25
			if i < cfg.Features {
				g -= x[i]
			} else {
				g += 1 - math.Exp(2*x[i])
			}
			g /= 300
			m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
			rate := 0.05 / (1 + 0.01*float64(s-1))
			x[i] += rate * m[i] / (1 - math.Pow(0.9,
				float64(s))) / (math.Sqrt(v[i]/(1-math.Pow(0.999, float64(s)))) + 1e-8)
			mean[i] += 4 / (float64(s) + 3) * (x[i] - mean[i])
		}
		var err error
		if raw, err = cfg.Fold(s, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := cfg.parameters(raw[3*n:])
	if !floats.EqualApprox(got, mean[:cfg.Features], 1e-6) || floats.Norm(mean, 2) < 0.1 {
		t.Errorf("averaged means %v, want %v", got, mean[:cfg.Features])
	}
	last, _ := cfg.parameters(raw[:n])
	if !floats.EqualApprox(last, x[:cfg.Features], 1e-6) {
		t.Errorf("means %v, want %v", last, x[:cfg.Features])
	}
}

// TestFoldIsFixed pins the integers of a run: every member must compute the same state.
func TestFoldIsFixed(t *testing.T) {
	cfg := small()
	cfg.Averaging = 3
	raw, rng := cfg.Initial(), mathrand.New(seeded(11))
	for s := 1; s <= 50; s++ {
		sum := make([]int64, cfg.Dim())
		for i := range sum {
			sum[i] = rng.Int64N(1<<28) - 1<<26
		}
		var err error
		if raw, err = cfg.Fold(s, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	const want = "[7415691163 5543370525] 4145782206 2574360199"
	if got := fmt.Sprint(raw[:2], raw[cfg.Features], raw[len(raw)-1]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
