package paper4

import (
	"slices"
	"testing"

	"choir/lab/study"
)

// TestNumpyPermutation holds the order to numpy's own: the first ten of
// numpy.random.RandomState(0).permutation(48842), as the authors' preprocessing left them
// in Adult's dppvi_preprocessing_stats.json.
func TestNumpyPermutation(t *testing.T) {
	p := numpyPermutation(48842, 0)
	if want := []int{38113, 39214, 44248, 10283, 26724, 20996, 44337, 33771, 24651,
		36398}; !slices.Equal(p[:10], want) {
		t.Errorf("begins %v, want %v", p[:10], want)
	}
	slices.Sort(p)
	for i, x := range p {
		if x != i {
			t.Fatalf("no permutation: %d at %d", x, i)
		}
	}
}

// TestAuthorsHalf: the share of ones in the test half is the one that the authors'
// preprocessing found, to all digits, and every seed has the same test rows.
func TestAuthorsHalf(t *testing.T) {
	o := study.Options{}
	var first []float64
	for seed := range uint64(2) {
		d, err := adultHalf(o, splits()[2], 10, seed)
		if err != nil {
			t.Fatal(err)
		}
		ones := 0.0
		for _, y := range d.Test.Y {
			ones += y
		}
		if got := ones / float64(len(d.Test.Y)); len(d.Test.Y) != 24421 || got != 0.23672249293640718 {
			t.Errorf("%d test rows, %v of them ones", len(d.Test.Y), got)
		}
		if n := len(d.Train.Y); n > 24421 || n < 24400 { // the split leaves a few over
			t.Errorf("%d rows train", n)
		}
		if first == nil {
			first = d.Test.X
		} else if !slices.Equal(first, d.Test.X) {
			t.Error("another seed has other test rows")
		}
	}
}
