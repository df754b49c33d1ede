package paper4

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/lab/bed"
	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// candidates are logistic posteriors around three sets of weights.
func candidates(t *testing.T) []*bayes.Posterior {
	t.Helper()
	var all []*bayes.Posterior
	for _, w := range [][]float64{{-3, 1}, {0, 0}, {3, 1}} {
		c := pvi.Config{
			Model: bayes.Logistic, Family: gauss.MeanField,
			Strategy: pvi.Dataset{Fit: pvi.Fit{Steps: 1, LearningRate: 1}}, Features: 2,
			PriorPrecision: 1, PrecisionFloor: 1, Clip: 1, FracBits: 20, DampingBits: 16,
			Damping: 1,
		}
		p, err := c.PosteriorAt([]float64{100 * w[0], 100 * w[1], -50, -50})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// rowsOf draws rows whose first column decides the class, mostly.
func rowsOf(rng *rand.Rand, n int) (d bayes.Data) {
	for range n {
		x := rng.NormFloat64()
		y := 0.0
		if x+0.3*rng.NormFloat64() > 0 {
			y = 1
		}
		d.X, d.Y = append(d.X, x, 1), append(d.Y, y)
	}
	return d
}

// TestExchangedRowMovesTheVote by at most twice the bound, exactly, and wrong and right
// answers at their most extreme come close to it.
func TestExchangedRowMovesTheVote(t *testing.T) {
	bound, err := (fixedpoint.Grid{FracBits: voteBits}).IntBound(voteBound)
	if err != nil {
		t.Fatal(err)
	}
	all := candidates(t)
	rng := rand.New(rand.NewPCG(1, 1))
	most := 0.0
	for range 200 {
		d := rowsOf(rng, 5)
		before, err := terms(all, d, bound)
		if err != nil {
			t.Fatal(err)
		}
		i := rng.IntN(5)
		d.X[2*i], d.Y[i] = 10*rng.NormFloat64(), float64(rng.IntN(2))
		after, err := terms(all, d, bound)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0.0
		for k := range before {
			moved += float64(after[k]-before[k]) * float64(after[k]-before[k])
		}
		if most = max(most, moved); moved > 4*float64(bound)*float64(bound) {
			t.Errorf("a row moves the vote by %g of %d", math.Sqrt(moved), 2*bound)
		}
	}
	if most < 3*float64(bound)*float64(bound) {
		t.Errorf("no row moves the vote by more than %g of %d", math.Sqrt(most), 2*bound)
	}
}

// TestVote: the secure sum names the candidate that fits, within its budget. The fitting one is
// ahead by more than two hundred nats, where the noise has a standard deviation of 16.
func TestVote(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	votes := []bayes.Data{rowsOf(rng, 300), rowsOf(rng, 300), rowsOf(rng, 10)}
	for _, over := range []study.Transport{bed.Clear, study.Memory} {
		r := new(chosen)
		sum, err := choice{name: "test"}.vote(t.Context(), study.Options{Transport: over}, candidates(t),
			votes, 1, 1, r)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Index(sum, slices.Max(sum)) != 2 || slices.Index(sum, slices.Min(sum)) != 0 ||
			!(r.selection.Epsilon > 0.999 && r.selection.Epsilon <= 1) {
			t.Errorf("%s: %v, %+v", over, sum, r.selection)
		}
	}
}

// TestHoldBack: every row is in one part, by its place: the eighth, the sixteenth and so on
// of a client's rows vote, the others learn.
func TestHoldBack(t *testing.T) {
	d := &experiment.Data{Schema: &dataset.Schema{}}
	features := d.Schema.Dim()
	for i, n := range []int{17, 7, 0, 40} {
		var p bayes.Data
		for j := range n {
			p.Y = append(p.Y, float64(1000*i+j))
			for range features {
				p.X = append(p.X, float64(1000*i+j))
			}
		}
		d.Parts = append(d.Parts, p)
	}
	learn, votes := holdBack(d)
	n := 0
	for i, p := range d.Parts {
		if len(votes[i].Y) != p.Rows()/8 || len(votes[i].Y)+len(learn.Parts[i].Y) != p.Rows() ||
			len(learn.Parts[i].X) != features*len(learn.Parts[i].Y) {
			t.Errorf("client %d: %d and %d of %d rows", i, len(learn.Parts[i].Y), len(votes[i].Y), p.Rows())
		}
		for j, v := range votes[i].Y {
			if v != float64(1000*i+8*j+7) || slices.Contains(learn.Parts[i].Y, v) {
				t.Errorf("client %d votes with row %v", i, v)
			}
		}
		n += len(learn.Parts[i].Y)
	}
	if len(learn.Train.Y) != n || n != 57 {
		t.Errorf("%d rows learn", n)
	}
}
