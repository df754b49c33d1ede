package dataset

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func generate(t *testing.T, g Generator) (*Generated, *Table) {
	t.Helper()
	d, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	table, err := d.Table()
	if err != nil {
		t.Fatal(err)
	}
	return d, table
}

func score(row, w []float64) float64 {
	s := 0.0
	for j, v := range row {
		s += v * w[j]
	}
	return s
}

// The labels follow the stated model: over 20,000 independent labels the sum of
// (y - p) has variance sum p(1-p). Seed fixed; 4.5 standard deviations are a false
// alarm of 7e-6 for another seed, per check.
func TestGeneratedLabels(t *testing.T) {
	d, table := generate(t, DefaultGenerator(false, 1))
	if table.Rows() != 20000 || table.Cols() != 21 || !table.Classification {
		t.Fatalf("%d x %d", table.Rows(), table.Cols())
	}
	// Plain and weighted by the score: the second sees a wrong slope.
	var plain, plainVar, sloped, slopedVar float64
	for i, y := range table.Y {
		s := score(table.Row(i), d.Weights)
		p := 1 / (1 + math.Exp(-s))
		plain, plainVar = plain+y-p, plainVar+p*(1-p)
		sloped, slopedVar = sloped+s*(y-p), slopedVar+s*s*p*(1-p)
	}
	for name, z := range map[string]float64{"mean": plain / math.Sqrt(plainVar),
		"slope": sloped / math.Sqrt(slopedVar)} {
		if math.Abs(z) > 4.5 {
			t.Errorf("%s of the labels is %.1f standard deviations off", name, z)
		}
	}
	if p := positive(table); p < .3 || p > .4 {
		t.Errorf("positives %.3f, want about .35", p)
	}
}

// The residuals of the linear model have the stated variance: the sample variance of
// 20,000 Gaussians has a relative standard deviation of 1 %.
func TestGeneratedLinear(t *testing.T) {
	g := DefaultGenerator(true, 1)
	d, table := generate(t, g)
	sum, square := 0.0, 0.0
	for i, y := range table.Y {
		r := y - score(table.Row(i), d.Weights)
		sum, square = sum+r, square+r*r
	}
	n := float64(table.Rows())
	if z := sum / math.Sqrt(n) / g.Noise; math.Abs(z) > 4.5 {
		t.Errorf("mean residual is %.1f standard deviations off", z)
	}
	if got := square / n / (g.Noise * g.Noise); math.Abs(got-1) > .045 {
		t.Errorf("residual variance is %.3f of the stated one", got)
	}
	if table.Classification || len(table.Notes.Clipped) > 20 {
		t.Errorf("%+v", table.Notes)
	}
}

// Encoded features have about unit variance and the stated correlation; clipping at 4
// standard deviations changes either by less than .001. Sampling: .01 each, so .045.
func TestGeneratedFeatures(t *testing.T) {
	g := DefaultGenerator(false, 2)
	_, table := generate(t, g)
	n := float64(table.Rows())
	for j := range g.Features {
		variance, next := 0.0, 0.0
		for i := range table.Rows() {
			row := table.Row(i)
			variance += row[j] * row[j]
			if j+1 < g.Features {
				next += row[j] * row[j+1]
			}
		}
		if math.Abs(variance/n-1) > .045 {
			t.Errorf("x%d: variance %.3f", j+1, variance/n)
		}
		if j+1 < g.Features && math.Abs(next/n-g.Correlation) > .045 {
			t.Errorf("x%d, x%d: correlation %.3f", j+1, j+2, next/n)
		}
	}
}

// A file written from generated records encodes to the same table, so that parties in
// separate processes have the same rows as parties in one process.
func TestGeneratedFile(t *testing.T) {
	g := DefaultGenerator(false, 3)
	g.Rows = 200
	d, table := generate(t, g)
	var buf bytes.Buffer
	if err := d.Records.WriteCSV(&buf, nil); err != nil {
		t.Fatal(err)
	}
	back, err := loadCSV(&buf, table.Name, d.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table, back); diff != "" {
		t.Error(diff)
	}
}

func TestGeneratorIsSeeded(t *testing.T) {
	g := DefaultGenerator(false, 4)
	g.Rows = 50
	a, _ := generate(t, g)
	b, _ := generate(t, g)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	g.Seed++
	c, _ := generate(t, g)
	if cmp.Equal(a.Records.Cells, c.Records.Cells) || cmp.Equal(a.Weights, c.Weights) {
		t.Error("two seeds gave the same data")
	}
	if diff := cmp.Diff(a.Schema, c.Schema); diff != "" {
		t.Errorf("the public schema depends on the seed: %s", diff)
	}
}

func TestGeneratorRefuses(t *testing.T) {
	for name, change := range map[string]func(*Generator){
		"rows":        func(g *Generator) { g.Rows = 0 },
		"features":    func(g *Generator) { g.Features = 0 },
		"too large":   func(g *Generator) { g.Rows = math.MaxInt },
		"signal":      func(g *Generator) { g.Signal = 0 },
		"noise":       func(g *Generator) { g.Noise = math.NaN() },
		"correlation": func(g *Generator) { g.Correlation = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			g := DefaultGenerator(false, 1)
			change(&g)
			if _, err := g.Generate(); err == nil {
				t.Errorf("not refused")
			}
		})
	}
}
