package dataset_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"choir/learn/dataset"
	"choir/learn/dataset/datasettest"
)

// preprocessing holds the figures of the reference implementation's own encoding.
type preprocessing struct {
	N          int        `json:"n"`
	D          int        `json:"d"`
	CatSizes   []int      `json:"cat_sizes"`
	Mean       []float64  `json:"scaler_mean"`
	Scale      []float64  `json:"scaler_scale"`
	PosFrac    float64    `json:"pos_frac"`
	XSum       float64    `json:"x_sum"`
	XAbsSum    float64    `json:"x_abs_sum"`
	Quantiles  []float64  `json:"row_norm_quantiles"`
	Categories [][]string `json:"categories"`
}

func reference(t *testing.T) preprocessing {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(datasettest.Path(t, "adult"), "dppvi_preprocessing_stats.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p preprocessing
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Mean) != 6 || len(p.Categories) != 8 {
		t.Fatal("the reference file has lost its content")
	}
	return p
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if math.Abs(got-want) > relative*math.Abs(want) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

// The encoding of Paper IV, against the figures of its own code. Sums over 5 million
// values in another order differ by rounding only.
func TestAdultAsPublished(t *testing.T) {
	ref := reference(t)
	rec, err := dataset.LoadAdult(datasettest.Path(t, "adult"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := dataset.AdultPaperSchema(rec)
	if err != nil {
		t.Fatal(err)
	}
	if schema.Public() {
		t.Error("a schema standardised on all rows claims to be public")
	}
	for j := range 6 {
		near(t, "mean of "+schema.Columns[j].Name, schema.Columns[j].Numeric.Center, ref.Mean[j], 1e-12)
		near(t, "scale of "+schema.Columns[j].Name, schema.Columns[j].Numeric.Scale, ref.Scale[j], 1e-12)
	}
	for j, cats := range ref.Categories {
		for i := range cats {
			cats[i] = cats[i][1:] // the reference keeps the space after the comma
		}
		if !slices.Equal(schema.Columns[6+j].Categories, cats) {
			t.Errorf("categories of %s differ", schema.Columns[6+j].Name)
		}
	}
	table, err := rec.Encode(schema)
	if err != nil {
		t.Fatal(err)
	}
	checkTable(t, table, ref)
}

func checkTable(t *testing.T, table *dataset.Table, ref preprocessing) {
	t.Helper()
	if table.Rows() != ref.N || table.Cols() != ref.D+1 || !table.Classification {
		t.Fatalf("%d x %d", table.Rows(), table.Cols())
	}
	if got := table.Columns[table.Cols()-1]; got != dataset.Bias {
		t.Errorf("last column is %q", got)
	}
	sum, abs := 0.0, 0.0
	norms := make([]float64, 0, table.Rows())
	for i := range table.Rows() {
		row := table.Row(i)
		square := 0.0
		for _, v := range row[:ref.D] {
			sum, abs, square = sum+v, abs+math.Abs(v), square+v*v
		}
		if row[ref.D] != 1 {
			t.Fatalf("row %d: bias %g", i, row[ref.D])
		}
		norms = append(norms, math.Sqrt(square))
	}
	// The numbers cancel in this sum, so its rounding is relative to the sum of magnitudes.
	if math.Abs(sum-ref.XSum) > 1e-11*ref.XAbsSum {
		t.Errorf("sum of X: %.15g, want %.15g", sum, ref.XSum)
	}
	near(t, "sum of |X|", abs, ref.XAbsSum, 1e-12)
	near(t, "positives", table.Positive(), ref.PosFrac, 1e-15)
	near(t, "smallest norm", slices.Min(norms), ref.Quantiles[0], 1e-12)
	near(t, "largest norm", slices.Max(norms), ref.Quantiles[len(ref.Quantiles)-1], 1e-12)
}

// The public bounds hold for every row: nothing is clipped, missing or unseen, and no
// row is longer than the schema promises.
func TestPublicBoundsHold(t *testing.T) {
	for _, c := range []struct {
		path       []string
		rows, cols int
	}{
		{[]string{"adult"}, 48842, 109},
		{[]string{"adult", "adult.test"}, 16281, 109},
		{[]string{"wine", "winequality-red.csv"}, 1599, 12},
		{[]string{"wine", "winequality-white.csv"}, 4898, 12},
		{[]string{"abalone"}, 4177, 11},
		{[]string{"abalone", "abalone.data"}, 4177, 11},
	} {
		path := filepath.Join(append([]string{datasettest.Path(t, c.path[0])}, c.path[1:]...)...)
		rec, schema, err := dataset.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !schema.Public() {
			t.Errorf("%v: schema is not public: %s", c.path, schema.Source)
		}
		table, err := rec.Encode(schema)
		if err != nil {
			t.Fatal(err)
		}
		if table.Rows() != c.rows || table.Cols() != c.cols || schema.Dim() != c.cols {
			t.Errorf("%v: %d x %d, want %d x %d", c.path, table.Rows(), table.Cols(), c.rows, c.cols)
		}
		n := table.Notes
		if len(n.Clipped)+len(n.Missing)+len(n.Unseen)+len(n.Ignored)+n.Dropped != 0 {
			t.Errorf("%v: %+v", c.path, n)
		}
		checkNorms(t, table, schema.RowNorm())
	}
}

func checkNorms(t *testing.T, table *dataset.Table, bound float64) {
	t.Helper()
	for _, row := range table.RowViews() {
		square := 0.0
		for _, v := range row {
			square += v * v
		}
		if math.Sqrt(square) > bound*(1+1e-12) {
			t.Fatalf("%s: a row has norm %g, the schema promises %g", table.Name, math.Sqrt(square), bound)
		}
	}
}

// The published split sizes on the real file: rows as Table 2 has them, class
// fractions within what another half of the rows changes: lambda moves by less than .003
// (1.5 standard deviations), 4 lambda - 3 by less than .012. The seed is fixed.
func TestAdultClientSplit(t *testing.T) {
	// Naming adult.data reads adult.test beside it as well.
	rec, schema, err := dataset.Open(filepath.Join(datasettest.Path(t, "adult"), "adult.data"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := rec.Encode(schema)
	if err != nil {
		t.Fatal(err)
	}
	if table.Rows() != 48842 {
		t.Fatalf("%d rows", table.Rows())
	}
	halves, err := dataset.Partition(table.Rows(), 1, .5)
	if err != nil {
		t.Fatal(err)
	}
	train, err := table.Select(halves[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rho, kappa float64
		small      int
		lambda     float64
	}{{0, 0, 2442, .76}, {.75, .95, 610, .99}, {.7, -3, 732, .03}} {
		parts, err := dataset.ClientSplit{Clients: 10, Rho: c.rho, Kappa: c.kappa, Seed: 1}.Split(train.Y, true)
		if err != nil {
			t.Fatal(err)
		}
		small, err := train.Select(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		if small.Rows() != c.small || math.Abs(1-small.Positive()-c.lambda) > .013 {
			t.Errorf("rho %g: %d rows, majority %.4f; want %d, %.2f", c.rho, small.Rows(), 1-small.Positive(), c.small, c.lambda)
		}
	}
}
