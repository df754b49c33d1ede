package reading

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// TestLawOfRecordsAddsUp: what the law says that single records leave in a round is in total what the round's
// sum says, where clips cut most terms and all rounds count all parties, to a hundredth: its mean predictions
// are those of [MacKay92].
func TestLawOfRecordsAddsUp(t *testing.T) {
	const rounds = 6
	c := oneRow(rounds)
	c.Clip = 0.15
	data := dense(c, 3, 200)
	l := learner(t, c, data, 1)
	p, err := l.Propose(t.Context(), 1, c.Initial(), l.InitialState())
	if err != nil {
		t.Fatal(err)
	}
	if p.ClippedFraction < 0.6 {
		t.Fatalf("%.2f of the terms are cut", p.ClippedFraction)
	}
	r := reading{c: c, prior: priorOf(c), records: float64(data.Rows())}
	for _, o := range observe(t, c, data, rounds, 0) {
		if err := r.addRound(o); err != nil {
			t.Fatal(err)
		}
	}
	k := r.recorded()
	if k == nil {
		t.Fatal("no law")
	}
	for s := range rounds {
		weights := make([]float64, rounds)
		weights[s] = 1
		total := make([]float64, c.Features)
		for i, y := range data.Y {
			floats.Add(total, k.Score(data.X[i*c.Features:(i+1)*c.Features], y, 0.5, weights))
		}
		for i, want := range r.score(s) {
			if math.Abs(total[i]-want) > 0.01*math.Abs(want)+0.02 {
				t.Errorf("round %d, weight %d: records leave %v, the sum %v", s+1, i, total[i], want)
			}
		}
	}
}
