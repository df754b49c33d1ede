//go:build !race

package experiment

import (
	"io"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/protocol"
)

// TestOptimisationLearns runs demonstrations whose parties noise what they send, with a
// regression and with a network, and their references. All randomness of the members is
// seeded, so the session is a fixed computation; the references' noise is fresh, and they
// are held to being computed at all.
func TestOptimisationLearns(t *testing.T) {
	for model, c := range map[bayes.Model]struct {
		rounds         int
		accuracy, loss float64
	}{bayes.Logistic: {8, 0.74, -0.55}, bayes.BNN: {6, 0.65, -0.65}} { // the majority's share gives .59 and -.68
		if testing.Short() && model == bayes.BNN { // four times as long as the other
			continue
		}
		t.Run(string(model), func(t *testing.T) {
			d := &Demo{
				Parties:  3,
				Computes: 2,
				Rounds:   c.rounds,
				Epsilon:  8,
				Delta:    1e-5,
				Model:    model,
				Strategy: pvi.NameOptimisation,
				InMemory: true,
				Rand: func(member uint32) io.Reader {
					return mathrand.NewChaCha8([32]byte{9, byte(member)})
				},
				Data: Source{Rows: 3000, Seed: 3, Train: 0.8, Rho: 0.5},
			}
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
			if d.placement() != protocol.NoiseLocal {
				t.Error("the noise isn't the parties' own")
			}
			r, err := d.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Result.Accuracy < c.accuracy || r.Result.LogLikelihood < c.loss {
				t.Errorf("scores %+v, want %v and %v at least", r.Result, c.accuracy, c.loss)
			}
			if r.Epsilon > 8 || r.Epsilon < 7.8 || r.Strategy != string(pvi.NameOptimisation) {
				t.Errorf("epsilon %v, strategy %q", r.Epsilon, r.Strategy)
			}
			for name, s := range map[string]Scores{
				"non-private": r.References.NonPrivate,
				"trusted":     r.References.TrustedAggregator,
				"local":       r.References.LocalNoise,
				"single":      r.References.BestSingleParty,
			} {
				t.Run(name, func(t *testing.T) {
					if s == (Scores{}) {
						t.Errorf("no %s reference", name)
					}
				})
			}
			t.Logf("%+v", r.Result)
		})
	}
}

func TestOptimisationRefuses(t *testing.T) {
	good := Demo{
		Parties:  4,
		Computes: 2,
		Rounds:   5,
		Epsilon:  1,
		Delta:    1e-5,
		Model:    bayes.BNN,
		Strategy: pvi.NameOptimisation,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Demo){
		"a network of shards":  func(d *Demo) { d.Strategy = pvi.NameVirtual },
		"linear, record-wise":  func(d *Demo) { d.Model = bayes.Linear },
		"shards of records":    func(d *Demo) { d.Shards = 2 },
		"a committee":          func(d *Demo) { d.Strategy = pvi.NameBCMSame },
		"a network, global VI": func(d *Demo) { d.Method = MethodGlobal },
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

// TestOrder: rows train and test in the order that was given, and an order of other length
// is refused.
func TestOrder(t *testing.T) {
	s := Source{Train: 0.5, Order: []int{3, 1, 0, 2}}
	cut, err := s.cut(4)
	if err != nil || len(cut) != 2 || cut[0][0] != 3 || cut[0][1] != 1 || cut[1][0] != 0 || cut[1][1] != 2 {
		t.Errorf("%v, %v", cut, err)
	}
	if _, err := s.cut(5); err == nil {
		t.Error("an order of four rows for five")
	}
}
