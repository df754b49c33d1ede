package run_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// TestSumIsExact compares secure sums of random matrices with big-integer
// arithmetic, for several numbers of nodes and rows, with values up to the
// bound that the plan allows.
func TestSumIsExact(t *testing.T) {
	rng := mathrand.New(mathrand.NewPCG(1, 2))
	cases := 0
	for _, m := range []int{2, 3, 10} {
		for _, n := range []int{2, 3, 7, 40} {
			t.Run(fmt.Sprintf("M=%d,N=%d", m, n), func(t *testing.T) {
				d := 1 + rng.IntN(40)
				bound := int64(1) << 61 / int64(n) / int64(math.Ceil(math.Sqrt(float64(d))))
				vectors := make([][]int64, n)
				for i := range vectors {
					vectors[i] = make([]int64, d)
					for j := range vectors[i] {
						vectors[i][j] = rng.Int64N(2*bound+1) - bound
					}
				}
				checkSum(t, n, m, d, vectors)
			})
			cases++
		}
	}
	if cases != 12 {
		t.Fatalf("%d cases ran, not 12", cases)
	}
}

func checkSum(t *testing.T, n, m, d int, vectors [][]int64) {
	list, keys := rig.Members(t, n, m)
	p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: d, PerParty: uint64(1) << 61 / uint64(n)})
	if err != nil {
		t.Fatal(err)
	}
	l := rig.Local(t, p, keys)
	rig.Sums(l, vectors)
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for j := range d {
		want := new(big.Int)
		for i := range vectors {
			want.Add(want, big.NewInt(vectors[i][j]))
		}
		if want.Cmp(big.NewInt(r.Model[j])) != 0 {
			t.Fatalf("coordinate %d: %d, want %s", j, r.Model[j], want)
		}
	}
}

// TestSumRefusesOverflow: a plan whose sums could wrap around the field is
// refused, and a party whose vector is beyond the plan's bound refuses to send.
func TestSumRefusesOverflow(t *testing.T) {
	list, keys := rig.Members(t, 2, 2)
	if _, err := rig.Terms(list).Sum(terms.SumTerms{Dim: 1, PerParty: 1 << 62}); err == nil {
		t.Error("a plan whose two terms can reach 2^63 was accepted")
	} else if protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("class %d for %v", protocol.ClassOf(err), err)
	}
	p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: 2, PerParty: 100})
	if err != nil {
		t.Fatal(err)
	}
	l := rig.Local(t, p, keys)
	rig.Sums(l, [][]int64{{60, 80}, {60, 81}})
	if _, err := l.Run(t.Context()); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a vector of norm above 100 was sent: %v", err)
	}
}

// silent is a party whose update is zero, so that the aggregate is the noise.
func silent(n, d int) [][]int64 {
	v := make([][]int64, n)
	for i := range v {
		v[i] = make([]int64, d)
	}
	return v
}

// history keeps every round's sum, and how many parties it is over.
type history struct {
	app.Sum
	sums   [][]int64
	counts []int
}

func (h *history) Fold(round uint32, model, sum []int64) ([]int64, error) {
	h.sums = append(h.sums, append([]int64(nil), sum...))
	return h.Sum.Fold(round, model, sum)
}

// over is the sums of the rounds with exactly so many parties.
func (h *history) over(parties int) (kept [][]int64) {
	for i, c := range h.counts {
		if c == parties {
			kept = append(kept, h.sums[i])
		}
	}
	return kept
}

// TestAggregateNoiseVariance measures the noise of real sessions against the
// promised variance at every coordinate, for full attendance and for the
// smallest allowed set. S = sum x^2 / (|U| sigma_i^2) over the R rounds with that set is
// chi-square with R degrees of freedom (the discrete Gaussian at sigma = 1000
// has the Gaussian's moments to far more digits than a test can see); with
// 3 x 16 coordinates and 3 pooled tests, each two-sided at 1e-9, the
// false-alarm rate is below 6e-8. At R = 300 a variance that is off by 55% at
// one coordinate, or by 13% at all of them, is found with near certainty.
func TestAggregateNoiseVariance(t *testing.T) {
	const n, m, d, rounds, dropouts, sigma2 = 5, 3, 16, 300, 2, 1_000_000
	for _, c := range []struct {
		absent int
		paired bool
	}{{0, false}, {dropouts, false}, {0, true}} {
		if testing.Short() && c.absent == 0 {
			continue
		}
		absent := c.absent
		t.Run(fmt.Sprintf("absent=%d paired=%t", absent, c.paired), func(t *testing.T) {
			sums := noiseOf(t, n, m, d, rounds, dropouts, absent, sigma2, c.paired)
			variance := float64(n-absent) * sigma2
			if len(sums) < rounds-10*absent { // the first rounds may have had more
				t.Fatalf("%d of %d rounds had %d parties", len(sums), rounds, n-absent)
			}
			pooled := 0.0
			for j := range d {
				s := 0.0
				for _, x := range sums {
					s += float64(x[j]) * float64(x[j]) / variance
				}
				pooled += s
				checkChiSquare(t, fmt.Sprintf("coordinate %d", j), s, float64(len(sums)))
			}
			checkChiSquare(t, "all coordinates", pooled, float64(len(sums)*d))
		})
	}
}

func checkChiSquare(t *testing.T, what string, s float64, df float64) {
	t.Helper()
	law := distuv.ChiSquared{K: df}
	if p := math.Min(law.CDF(s), law.Survival(s)); p < 0.5e-9 {
		t.Errorf("%s: chi-square %.1f with %.0f degrees of freedom, one-sided p = %.2g", what, s, df, p)
	}
}

func noiseOf(t *testing.T, n, m, d, rounds, dropouts, absent int, sigma2 uint64, paired bool) [][]int64 {
	list, keys := rig.Members(t, n, m)
	ts := rig.Terms(list)
	ts.Dropouts = dropouts
	p, err := ts.Sum(terms.SumTerms{Dim: d, FracBits: 10, PerParty: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.Rounds, p.Noise, p.Variance = uint32(rounds), protocol.NoiseParty, sigma2
	p.Paired, p.GraceMS, p.DeadlineMS = paired, 0, 60_000
	if absent > 0 { // some leave, and are waited for once
		p.DeadlineMS = 300
	}
	if err := errors.Join(p.Validate(), terms.CheckPlan(p)); err != nil {
		t.Fatal(err)
	}
	l := rig.Local(t, p, keys)
	rig.Sums(l, silent(n, d))
	h := &history{Sum: app.Sum{Dim: d}}
	l.Model = h
	l.Notify = func(i uint32, note protocol.Notice) {
		if i == p.Aggregator() && note.Code == protocol.NoteResult {
			h.counts = append(h.counts, note.Count)
		}
	}
	l.Leave = func(i uint32) uint32 {
		if int(i) >= n-absent {
			return 1
		}
		return 0
	}
	if _, err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.over(n - absent)
}
