package response

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"choir/attack/threat"
	"choir/privacy"
	"choir/privacy/shuffle"
)

func source(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func response(t testing.TB, k int, gamma float64) Response {
	t.Helper()
	r, err := New(k, gamma)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReportsAreExact: one coin and one number decide, at the edges too.
func TestReportsAreExact(t *testing.T) {
	r := response(t, 3, 0.5)
	for _, c := range []struct {
		name string
		raw  []byte
		want int
	}{
		{"last random coin", []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, 1},
		{"first true coin", []byte{0x80, 0, 0, 0, 0, 0, 0, 1}, 2},
		{"a number beyond the last multiple", []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 4}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := r.Report(2, bytes.NewReader(c.raw)); err != nil || got != c.want {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
	if g := response(t, 3, 0.3).Gamma(); g < 0.3 || g > 0.3+0x1p-32 {
		t.Errorf("gamma %v is not 0.3 rounded up", g)
	}
}

// TestFrequencies: reports and levels have the probabilities that are claimed, within six deviations
// (a false alarm in 10^7 for fixed seeds never).
func TestFrequencies(t *testing.T) {
	const n = 200_000
	r, random := response(t, 5, 0.4), source(1)
	counts := make([]int64, 5)
	levels := 0
	for range n {
		y, err := r.Report(3, random)
		if err != nil {
			t.Fatal(err)
		}
		counts[y]++
		l, err := r.Level(0.3, random)
		if err != nil {
			t.Fatal(err)
		}
		levels += l
	}
	for v, c := range counts {
		p := 0.08
		if v == 3 {
			p = 0.68
		}
		if math.Abs(float64(c)-n*p) > 6*math.Sqrt(n*p*(1-p)) {
			t.Errorf("value %d: %d reports of %d, want a share %v", v, c, n, p)
		}
	}
	if mean := float64(levels) / n; math.Abs(mean-1.2) > 6*0.4/math.Sqrt(n) {
		t.Errorf("mean level %v, want 1.2", mean)
	}
}

func TestEstimates(t *testing.T) {
	const n = 100_000
	r, random := response(t, 11, 0.3), source(2)
	counts := make([]int64, 11)
	holders := make([]int64, 11)
	for i := range n {
		x := 0.2 + 0.5*float64(i)/n
		v, err := r.Level(x, random)
		if err != nil {
			t.Fatal(err)
		}
		holders[v]++
		y, err := r.Report(v, random)
		if err != nil {
			t.Fatal(err)
		}
		counts[y]++
	}
	all, err := r.Histogram(counts)
	if err != nil {
		t.Fatal(err)
	}
	for v, e := range all {
		if math.Abs(e.Value-float64(holders[v])) > 6*e.SD {
			t.Errorf("value %d: %+v, %d hold it", v, e, holders[v])
		}
	}
	if m, err := r.Mean(counts); err != nil || math.Abs(m.Value-0.45) > 6*m.SD || m.SD > 0.01 {
		t.Errorf("mean %+v, %v, want 0.45", m, err)
	}
	if q, err := r.Quantile(counts, 0.5); err != nil || math.Abs(q-0.45) > 0.1 {
		t.Errorf("median %v, %v, want 0.45", q, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, k := range []int{-1, 1, maxCategories + 1} {
		if _, err := New(k, 0.5); err == nil {
			t.Errorf("%d categories", k)
		}
	}
	for _, g := range []float64{0, 1.1, math.NaN()} {
		if _, err := New(3, g); err == nil {
			t.Errorf("gamma %v", g)
		}
	}
	r := response(t, 3, 0.5)
	if _, err := r.Report(3, source(1)); err == nil {
		t.Error("value 3 of 3")
	}
	if _, err := r.Level(math.NaN(), source(1)); err == nil {
		t.Error("no number")
	}
	if _, err := r.Report(1, bytes.NewReader([]byte{1})); err == nil {
		t.Error("no randomness")
	}
	for _, counts := range [][]int64{{1, 2}, {0, 0, 0}, {1, -1, 3}} {
		if _, err := r.Histogram(counts); err == nil {
			t.Errorf("counts %v", counts)
		}
	}
}

// TestShuffledReportsKeepTheirClaim draws rounds of ten users whose values differ in one, all others holding
// a third value, and bounds epsilon from below by what a distinguisher sees in the counts: between
// half and all of what is claimed. The bound exceeds the truth with a probability of at most 10^-9.
func TestShuffledReportsKeepTheirClaim(t *testing.T) {
	const users, k, delta = 10, 3, 0.01
	r := response(t, k, 0.5)
	q := privacy.ShuffleQuery{Delta: delta, Rounds: []shuffle.Round{{Kind: shuffle.RandomisedResponse,
		Users: users, Categories: k, Gamma: r.Gamma(), Count: 1}}}
	claim, err := q.Answer()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 60_000
	random := source(3)
	see := func(victim int) []float64 {
		seen := make([]float64, rounds)
		for i := range seen {
			counts := make([]float64, k)
			for u := range users {
				value := 2
				if u == 0 {
					value = victim
				}
				y, err := r.Report(value, random)
				if err != nil {
					t.Fatal(err)
				}
				counts[y]++
			}
			// The likelihood ratio of the two values; a true report is four times as likely as another.
			seen[i] = math.Log((4*counts[0] + counts[1] + counts[2]/4) / (counts[0] + 4*counts[1] + counts[2]/4))
		}
		return seen
	}
	found, err := threat.Test{Delta: delta, FalseAlarm: 1e-9}.Epsilon(see(0), see(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("claimed %.3f, found %.3f", claim.Epsilon, found.Epsilon)
	if found.Epsilon > claim.Epsilon || found.Epsilon < claim.Epsilon/2 {
		t.Errorf("found %.3f, not between half and all of the claim %.3f", found.Epsilon, claim.Epsilon)
	}
}
