package mcmc

import (
	"math"
	"slices"
	"testing"
)

// TestDrawsFollowFromSums: sums that differ in one unit of one round lead to draws that have nothing in
// common, so that who makes up a plan can't foresee them. Without the hash of the sums all queries would
// agree to a millionth.
func TestDrawsFollowFromSums(t *testing.T) {
	for _, method := range Methods() {
		for _, staged := range []bool{true, false} {
			cfg := config(method, 500, 3)
			if !staged {
				cfg.ScaleRounds, cfg.LocateRounds = 0, 0
			}
			one, all := folded(t, cfg, 0), folded(t, cfg, 0)
			if !slices.EqualFunc(one, all, slices.Equal) {
				t.Errorf("%s: the same sums lead to other draws", method)
			}
			most := 0.0
			for i, v := range folded(t, cfg, 1) {
				for j, x := range v {
					most = max(most, math.Abs(x-one[i][j]))
				}
			}
			if most < 0.01 {
				t.Errorf("%s, stages %v: another sum moves queries by %.2g at most", method, staged, most)
			}
		}
	}
}

// TestFirstDraws: what the plan's identity alone decides is one step of a walk without stages.
func TestFirstDraws(t *testing.T) {
	for _, method := range Methods() {
		cfg := config(method, 500, 3)
		cfg.ScaleRounds, cfg.LocateRounds = 0, 0
		s, err := New(cfg, Public{Seed: [32]byte{1}, Variance: 0x1p40})
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(cfg, Public{Seed: [32]byte{2}, Variance: 0x1p40})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Query(s.Initial())
		if err != nil {
			t.Fatal(err)
		}
		b, err := other.Query(s.Initial())
		if err != nil {
			t.Fatal(err)
		}
		walks := method == Penalty || method == Barker
		if differ := !slices.EqualFunc(a.to, b.to, slices.Equal); differ != walks {
			t.Errorf("%s: the first query follows from the plan's identity: %v, want %v", method, differ, walks)
		}
	}
}

// TestPairsShareSteps: the second round of a pair asks for the opposite of the first's steps, and the next
// pair for others.
func TestPairsShareSteps(t *testing.T) {
	cfg := config(Trace, 500, 3)
	s, err := New(cfg, Public{Variance: 0x1p40})
	if err != nil {
		t.Fatal(err)
	}
	tr, raw := s.(*base).move.(trace), s.Initial()
	var before [][]float64
	for round := 1; round <= cfg.Rounds; round++ {
		st, err := cfg.open(raw)
		if err != nil {
			t.Fatal(err)
		}
		at, done := cfg.stageOf(*st.folded)
		if at == warming || at == sampling {
			steps, _, err := tr.steps(st)
			if err != nil {
				t.Fatal(err)
			}
			if same := slices.EqualFunc(before, steps, slices.Equal); same != (done%2 == 1) {
				t.Fatalf("round %d has the steps of the one before: %v", round, same)
			}
			before = steps
		}
		sum := make([]int64, cfg.Dim())
		sum[0] = int64(round)
		if raw, err = s.Fold(round, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
}

// folded are the points of all queries of a run of small sums, the first of which differs by some units.
func folded(t *testing.T, cfg Config, units int64) (points [][]float64) {
	t.Helper()
	s, err := New(cfg, Public{Variance: 0x1p40})
	if err != nil {
		t.Fatal(err)
	}
	raw := s.Initial()
	for round := 1; round <= cfg.Rounds; round++ {
		q, err := s.Query(raw)
		if err != nil {
			t.Fatal(err)
		}
		points = append(append(points, q.from...), q.to...)
		sum := make([]int64, cfg.Dim())
		if round == 1 {
			sum[0] += units
		}
		if raw, err = s.Fold(round, raw, sum); err != nil {
			t.Fatal(err)
		}
	}
	return points
}
