package stats

import (
	"math"
	mathrand "math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestResidualsAreExact: without noise, rounds of residuals end in the conjugate posterior, but for the grid
// of residuals, 2^-16, whose errors are far below their number's root times that.
func TestResidualsAreExact(t *testing.T) {
	cfg := small()
	cfg.FracBits, cfg.ResidualFrom, cfg.Radius = 16, 2, 16
	data := line(1, 200, 3)
	want, precision := exact(data, 3, 1, 0.5)
	raw, err := run(t.Context(), cfg, learners(t, cfg, 0, data.Split(4)...), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cfg.open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if s.targets.rounds != 1 || s.residual.rounds != 2 {
		t.Fatalf("%d rounds of targets and %d of residuals", s.targets.rounds, s.residual.rounds)
	}
	p, err := cfg.Posterior(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(p.Mean, want, 1e-5) || p.Rounds != 3 {
		t.Errorf("mean %v after %d rounds, want %v", p.Mean, p.Rounds, want)
	}
	if got := 1 / p.Covariance.At(0, 0); got > precision.At(0, 0) || got < 0.5*precision.At(0, 0) {
		t.Errorf("precision %g, without the other weights %g", got, precision.At(0, 0))
	}
}

// TestResidualsAreNarrow: of ten noisy rounds, six with residuals leave less than half of the width that ten
// with targets leave, since residuals are a quarter of targets, and 90 % intervals cover. Of 50, if
// independent, fewer than .7 do with a probability of 1e-5.
func TestResidualsAreNarrow(t *testing.T) {
	const sessions, rounds, d, noise = 10, 10, 5, 30.0
	width := map[int]float64{}
	for _, from := range []int{0, 5} {
		cfg := Config{Features: d, PriorPrecision: 1, Bound: 1, TargetBound: 1, Radius: 6, FracBits: 10,
			Records: 1000, MaxRecords: 1000, ResidualFrom: from}
		covered := 0
		for k := range sessions {
			rng := mathrand.New(seeded(byte(k), 9))
			data, truth := signal(rng, 1000, d)
			sd := noise * math.Sqrt(rounds) * offDiagonal * math.Ldexp(1, 2*int(cfg.FracBits))
			raw, err := run(t.Context(), cfg, learners(t, cfg, sd*sd, data), func(_ int, sum []int64) error {
				for i := range sum {
					sum[i] += int64(sd * rng.NormFloat64())
				}
				return nil
			}, rounds)
			if err != nil {
				t.Fatal(err)
			}
			p, err := cfg.Posterior(raw, sd*sd)
			if err != nil {
				t.Fatal(err)
			}
			for j, w := range truth {
				own := math.Sqrt(p.Covariance.At(j, j))
				width[from] += own / (sessions * d)
				if math.Abs(p.Mean[j]-w) < 1.645*own {
					covered++
				}
			}
		}
		if share := float64(covered) / (sessions * d); share < 0.7 {
			t.Errorf("residuals from round %d: 90 %% intervals cover %.3f", from, share)
		}
	}
	if !(width[5] < width[0]/2) {
		t.Errorf("widths %.4f with residuals and %.4f without", width[5], width[0])
	}
}
