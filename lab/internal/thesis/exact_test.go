package thesis

import (
	"math"
	"testing"

	"choir/lab/bed"
	"choir/lab/study"
	"choir/learn/pvi"
)

// TestExact: without noise and clipping one undamped round is the exact posterior, whose
// mean is near theta: within five of its own standard deviations, which a fixed seed
// makes a fact.
func TestExact(t *testing.T) {
	p, err := draw(1, 20, 10, 2, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := p.run(t.Context(), "exact", 1, pvi.Config{
		Strategy: pvi.Dataset{}, Damping: 1, FracBits: 36,
	}, 1, 0, study.Options{Transport: bed.Clear})
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.exact()
	if err != nil {
		t.Fatal(err)
	}
	if tr.last() > 1e-9 || math.Abs(want.Mean()[0]-2) > 5*want.SD()[0] || want.SD()[0] > 0.1 {
		t.Errorf("divergence %v, mean %v, standard deviation %v", tr.last(), want.Mean(), want.SD())
	}
}

// TestProblems are what their seeds say: the same again, others for other seeds.
func TestProblems(t *testing.T) {
	a, _ := draw(1, 3, 4, 0, 0)
	b, _ := draw(1, 3, 4, 0, 0)
	c, err := draw(2, 3, 4, 0, 0)
	if err != nil || a.theta != b.theta || a.theta == c.theta || len(a.parts) != 3 ||
		a.parts[2].Rows() != 4 || a.parts[1].X[3] != b.parts[1].X[3] || !(c.sd > 0.5 && c.sd < 2) {
		t.Errorf("%+v %+v %+v %v", a, b, c, err)
	}
}
