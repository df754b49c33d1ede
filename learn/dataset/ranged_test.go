package dataset

import (
	"math"
	"testing"
)

// TestRangedGenerator: records are encoded by the schema, whose columns lie within their ranges, and labels
// follow the weights of encoded columns: of records with about the same expected share of ones that many are
// ones, within five standard deviations (one in 100,000 runs is outside).
func TestRangedGenerator(t *testing.T) {
	made, err := RangedGenerator{Rows: 20_000, Features: 12, Correlation: 0.4, Seed: 5}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	table, err := made.Table()
	if err != nil {
		t.Fatal(err)
	}
	width := made.Schema.Dim()
	if len(made.Weights) != width || len(table.Y) != 20_000 {
		t.Fatalf("%d weights of %d columns, %d rows", len(made.Weights), width, len(table.Y))
	}
	var n, ones, want, variance [10]float64
	for i, y := range table.Y {
		logit := 0.0
		for j, w := range made.Weights {
			x := table.X[i*width+j]
			if !(math.Abs(x) <= 2) {
				t.Fatalf("row %d, column %d is %v", i, j, x)
			}
			logit += w * x
		}
		p := 1 / (1 + math.Exp(-logit))
		at := min(9, int(10*p))
		n[at]++
		ones[at] += y
		want[at] += p
		variance[at] += p * (1 - p)
	}
	for at := range n {
		if n[at] < 30 || math.Abs(ones[at]-want[at]) > 5*math.Sqrt(variance[at]) {
			t.Errorf("%g records of about %d5 %% have %g ones, want %.1f", n[at], at, ones[at], want[at])
		}
	}
	wide, err := RangedGenerator{Rows: 10, Features: 200, Wider: 30, Seed: 5}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	widths := map[float64]int{}
	for _, c := range wide.Schema.Columns {
		r := c.Numeric
		widths[math.Round(r.Hi-r.Lo)]++
	}
	// 200, 2,000 and 6,000 are an income's; of 200 columns a sixth have one, and a flag
	if widths[200] < 8 || widths[2000] < 2 || widths[6000] < 2 || widths[1] < 15 {
		t.Errorf("ranges %v", widths)
	}
	for _, g := range []RangedGenerator{{Rows: 3, Features: 3, Categories: -1},
		{Rows: 3, Features: 3, Missing: 1}, {Rows: 0, Features: 3}, {Rows: 3, Features: 0}, {Rows: 3, Features: 3,
			Correlation: -0.1}, {Rows: 3, Features: 3, Correlation: 1}, {Rows: 3, Features: 3, Wider: 0.5}} {
		if _, err := g.Generate(); err == nil {
			t.Errorf("%+v: no error", g)
		}
	}
}

// TestRangedCategories: numbers follow the weights of encoded columns, with a mean residual of 0 within five
// standard errors for every level, and a length of .7 within five; so many cells are missing, and no others
// change what rows are.
func TestRangedCategories(t *testing.T) {
	const rows, share = 20_000, 0.1
	g := RangedGenerator{Rows: rows, Features: 3, Categories: 2, Linear: true, Seed: 7}
	made, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	table, err := made.Table()
	if err != nil {
		t.Fatal(err)
	}
	width, unit := made.Schema.Dim(), made.Schema.Target.Numeric.Scale
	sum, n, square := make([]float64, width), make([]float64, width), 0.0
	for i, y := range table.Y {
		e := y * unit
		for j, w := range made.Weights {
			e -= unit * w * table.X[i*width+j]
		}
		square += e * e
		for j := 3; j < width; j++ {
			sum[j] += e * table.X[i*width+j]
			n[j] += table.X[i*width+j]
		}
	}
	if sd := math.Sqrt(square / rows); math.Abs(sd-0.7) > 5*0.7/math.Sqrt(2*rows) {
		t.Errorf("residuals have the length %.4f, want .7", sd)
	}
	for j := 3; j < width; j++ {
		if n[j] == 0 || math.Abs(sum[j]) > 5*0.7*math.Sqrt(n[j]) {
			t.Errorf("column %d: residuals of %g records add up to %.2f", j, n[j], sum[j])
		}
	}
	g.Missing = share
	if made, err = g.Generate(); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, cells := range made.Records.Cells {
		for _, c := range cells {
			if c == "" {
				missing++
			}
		}
	}
	if want := share * 5 * rows; math.Abs(float64(missing)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d cells are missing, want about %g", missing, want)
	}
}
