package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRecordsAreAsLongAsTaken: the norm to which the trace's answers are scaled is the root mean square norm
// of the records in phi on average over the noise in their products, also where that noise is most of the
// metric and records are far shorter than in the metric of the products alone. Four standard errors of 40
// draws are exceeded once in 16,000.
func TestRecordsAreAsLongAsTaken(t *testing.T) {
	const n, d, draws = 600, 5, 40
	cfg := config(Trace, n, d)
	records := classes(5, n, d)
	l, err := NewLearner(cfg, Public{}, records)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, Public{})
	if err != nil {
		t.Fatal(err)
	}
	exact, err := l.Propose(t.Context(), s.Initial(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	const noise = 20 << FracBits
	var mean, square, size float64
	for range draws {
		s, err := New(cfg, Public{Variance: noise * noise})
		if err != nil {
			t.Fatal(err)
		}
		raw := s.Initial()
		for round := range cfg.ScaleRounds {
			sum := append([]int64(nil), exact.Update...)
			if err := gaussian(noise, rng)(0, sum); err != nil {
				t.Fatal(err)
			}
			if raw, err = s.Fold(round+1, raw, sum); err != nil {
				t.Fatal(err)
			}
		}
		st, err := cfg.open(raw)
		if err != nil {
			t.Fatal(err)
		}
		g := s.(*base).geometry(st)
		own := 0.0
		for i := range n {
			z := append([]float64(nil), records.X[i*d:(i+1)*d]...)
			g.factor.solve(z)
			own += dot(z, z) / n
		}
		off := g.norm*g.norm/own - 1
		mean += off / draws
		square += off * off / draws
		size += own / (cfg.norm() * cfg.norm()) / draws
	}
	if se := math.Sqrt((square - mean*mean) / draws); math.Abs(mean) > 4*se {
		t.Errorf("squared norms are taken for %.3f of themselves, standard error %.3f", 1+mean, se)
	}
	if size > 0.6 {
		t.Errorf("squared norms are %.2f of their bound: the noise is no part of this metric", size)
	}
}
