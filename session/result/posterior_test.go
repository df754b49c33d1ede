package result

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"choir/learn/dataset"
)

// TestMissingOfAFile: a model of statistics predicts of a missing number as of the measured centre, which is
// a part of the file that predictions depend on.
func TestMissingOfAFile(t *testing.T) {
	f := wardModel(t, dataset.Zero, dataset.Zero)
	predicted := func(csv string) float64 {
		p, err := f.Predict(records(t, csv), "")
		if err != nil {
			t.Fatal(err)
		}
		return p.Rows[0].Mean
	}
	middle := predicted("ward,age\nB,\n")
	f.Missing = []float64{0.5, 0.1, 0.2, 0}
	if got, want := predicted("ward,age\nB,\n"), predicted("ward,age\nB,75\n"); got != want || got == middle {
		t.Errorf("probability %v without the age, %v at the centre, %v at the middle", got, want, middle)
	}
	if got, want := predicted("ward,age\nB,50\n"), middle; got != want {
		t.Errorf("probability %v in the middle of the range, want %v", got, want)
	}
	if other := wardModel(t, dataset.Zero, dataset.Zero); other.predictsLike(f) {
		t.Error("where missing numbers are was altered, and it went unseen")
	}
	f.Missing = f.Missing[:3]
	if err := f.check(); err == nil || !strings.Contains(err.Error(), "3 numbers") {
		t.Errorf("%v, want an error about 3 numbers", err)
	}
}

// TestCentresOfAFile: a model file alone tells how a measured number is encoded, as docs/plan-file.md has it:
// as ((v - middle)/half - centre)/unit.
func TestCentresOfAFile(t *testing.T) {
	predicted := func(f *ModelFile, age float64) float64 {
		p, err := f.Predict(records(t, fmt.Sprintf("ward,age\nB,%v\n", age)), "")
		if err != nil {
			t.Fatal(err)
		}
		return p.Rows[0].Mean
	}
	plain, measured := wardModel(t, dataset.Zero, dataset.Zero), wardModel(t, dataset.Zero, dataset.Zero)
	measured.Centres, measured.Units = []float64{0.2}, []float64{1.6}
	for _, age := range []float64{10, 60, 90} {
		encoded := ((age-50)/50 - 0.2) / 1.6
		// Without measurements the range from 0 to 100 is encoded as (v - 50)/50.
		got, want := predicted(measured, age), predicted(plain, 50+50*encoded)
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("age %v: probability %v, want %v", age, got, want)
		}
	}
}
