//go:build !race

package experiment

import (
	"io"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/mcmc"
)

// TestMethodsLearn runs both other methods with their references on generated data.
// All randomness of the members is seeded, so the session is a fixed computation; the
// references' noise is fresh, and they are held to being computed at all.
func TestMethodsLearn(t *testing.T) {
	for _, c := range []struct {
		method         Method
		model          bayes.Model
		rounds         int
		accuracy, loss float64
	}{
		// The non-private scores here are .80 and .94.
		{MethodGlobal, bayes.Logistic, 40, 0.74, -0.55},
		{MethodStatistics, bayes.Linear, 4, 0.85, -1.2},
		{MethodMCMC, bayes.Logistic, 40, 0.74, -0.55},
	} {
		if testing.Short() && c.method == MethodMCMC { // as long as all others together
			continue
		}
		t.Run(string(c.method), func(t *testing.T) {
			d := &Demo{
				Parties:  4,
				Computes: 2,
				Rounds:   c.rounds,
				Epsilon:  4,
				Delta:    1e-5,
				Model:    c.model,
				Method:   c.method,
				InMemory: true,
				Rand: func(member uint32) io.Reader {
					return mathrand.NewChaCha8([32]byte{9, byte(member)})
				},
				Data: Source{Rows: 4000, Seed: 3, Train: 0.8, Rho: 0.5},
			}
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
			r, err := d.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Warnings == nil {
				t.Error("no list of warnings: programs that read the result expect one")
			}
			if r.Result.Accuracy < c.accuracy || r.Result.LogLikelihood < c.loss {
				t.Errorf("scores %+v, want %v and %v at least", r.Result, c.accuracy, c.loss)
			}
			if r.Epsilon > 4 || r.Epsilon < 3.9 || r.Strategy != string(c.method) || r.Clip <= 0 {
				t.Errorf("epsilon %v, strategy %q, clip %v", r.Epsilon, r.Strategy, r.Clip)
			}
			none := Scores{}
			for name, s := range map[string]Scores{
				"non-private": r.References.NonPrivate,
				"trusted":     r.References.TrustedAggregator,
				"local":       r.References.LocalNoise,
				"single":      r.References.BestSingleParty,
			} {
				t.Run(name, func(t *testing.T) {
					if s == none {
						t.Errorf("no %s reference", name)
					}
				})
			}
		})
	}
}

func TestMethodsRefuse(t *testing.T) {
	good := Demo{
		Parties:  4,
		Computes: 2,
		Rounds:   5,
		Epsilon:  1,
		Delta:    1e-5,
		Model:    bayes.Logistic,
		Method:   MethodGlobal,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Demo){
		"unknown":          func(d *Demo) { d.Method = "magic" },
		"global, linear":   func(d *Demo) { d.Model = bayes.Linear },
		"statistics":       func(d *Demo) { d.Method = MethodStatistics },
		"mcmc, linear":     func(d *Demo) { d.Method, d.Model = MethodMCMC, bayes.Linear },
		"mcmc, drop-outs":  func(d *Demo) { d.Method, d.Dropouts = MethodMCMC, 1 },
		"mcmc, sampler":    func(d *Demo) { d.Method, d.Sampler = MethodMCMC, "gibbs" },
		"sampler":          func(d *Demo) { d.Sampler = mcmc.Trace },
		"statistics, once": func(d *Demo) { d.Method, d.Model, d.Rounds = MethodStatistics, bayes.Linear, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			d := good
			spoil(&d)
			if d.Validate() == nil {
				t.Error("accepted")
			}
		})
	}
}
