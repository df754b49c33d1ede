package uci

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"choir/learn/dataset"
)

// published are figures of the encoding that the code of [DP-PVI] computes from Adult:
// all rows of both files, the numbers standardised on them, 0/1 columns for categories.
var published = struct {
	rows, cols       int
	mean, scale      []float64
	positive         float64
	sum, sumAbs      float64 // over all cells
	minNorm, maxNorm float64 // of a row
}{
	rows: 48842,
	cols: 108,
	mean: []float64{38.64358543876172, 189664.13459727284, 10.078088530363212, 1079.0676262233324,
		87.50231358257237, 40.422382375824085},
	scale: []float64{13.71036957798689, 105602.94433960247, 2.5709464361754084, 7451.942770267475,
		403.0004265089569, 12.391317171262553},
	positive: 0.23928176569346055,
	sum:      390736.0000000002,
	sumAbs:   566048.643616539,
	minNorm:  2.840929361446999,
	maxNorm:  14.503286939446442,
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if math.Abs(got-want) > relative*math.Abs(want) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

func encode(t *testing.T, rec *dataset.Records, s *dataset.Schema) *dataset.Table {
	t.Helper()
	table, err := rec.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The encoding of [DP-PVI], against the figures of its own code. Sums over 5 million
// values in another order differ by rounding only.
func TestAdultAsPublished(t *testing.T) {
	rec, err := Adult("")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := AdultPaperSchema(rec)
	if err != nil {
		t.Fatal(err)
	}
	if schema.Public() {
		t.Error("a schema standardised on all rows claims to be public")
	}
	for j := range published.mean {
		c := schema.Columns[j]
		near(t, "mean of "+c.Name, c.Numeric.Center, published.mean[j], 1e-12)
		near(t, "scale of "+c.Name, c.Numeric.Scale, published.scale[j], 1e-12)
	}
	for _, c := range schema.Columns[len(published.mean):] {
		if got := distinct(rec, c.Name); !slices.Equal(got, c.Categories) {
			t.Errorf("%s: categories %q, in the files %q", c.Name, c.Categories, got)
		}
	}
	checkTable(t, encode(t, rec, schema))
}

// distinct returns the values of a column in byte order.
func distinct(rec *dataset.Records, column string) (values []string) {
	at := slices.Index(rec.Header, column)
	for _, cells := range rec.Cells {
		values = append(values, cells[at])
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// A file with other columns is not Adult.
func TestPaperSchemaOfAnotherFile(t *testing.T) {
	rec, err := Abalone("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AdultPaperSchema(rec); err == nil {
		t.Error("abalone has a schema of Adult")
	}
}

func checkTable(t *testing.T, table *dataset.Table) {
	t.Helper()
	if table.Rows() != published.rows || table.Cols() != published.cols+1 || !table.Classification {
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
		for _, v := range row[:published.cols] {
			sum = sum + v
			abs = abs + math.Abs(v)
			square = square + v*v
		}
		if row[published.cols] != 1 {
			t.Fatalf("row %d: bias %g", i, row[published.cols])
		}
		norms = append(norms, math.Sqrt(square))
	}
	// The numbers cancel in this sum, so its rounding is relative to the sum of magnitudes.
	if math.Abs(sum-published.sum) > 1e-11*published.sumAbs {
		t.Errorf("sum of X: %.15g, want %.15g", sum, published.sum)
	}
	near(t, "sum of |X|", abs, published.sumAbs, 1e-12)
	near(t, "positives", positive(table), published.positive, 1e-15)
	near(t, "smallest norm", slices.Min(norms), published.minNorm, 1e-12)
	near(t, "largest norm", slices.Max(norms), published.maxNorm, 1e-12)
}

// files writes all sets to a folder, as a user has them.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range Names() {
		set, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Install(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Every file has the rows and columns that the repository states, and the public bounds
// hold for every row: nothing is clipped, missing or unseen, and no row is longer than
// the schema promises.
func TestOpen(t *testing.T) {
	dir := files(t)
	for _, c := range []struct {
		path       string
		rows, cols int
		target     string
		first      []string
	}{
		{"adult", 48842, 109, "income", []string{"39", "State-gov"}},
		{"adult/adult.data", 48842, 109, "income", []string{"39", "State-gov"}},
		{"adult/adult.test", 16281, 109, "income", []string{"25", "Private"}},
		{"wine/winequality-red.csv", 1599, 12, "quality", []string{"7.4", "0.7"}},
		{"wine/winequality-white.csv", 4898, 12, "quality", []string{"7", "0.27"}},
		{"abalone", 4177, 11, "Rings", []string{"M", "0.455"}},
		{"abalone/abalone.data", 4177, 11, "Rings", []string{"M", "0.455"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			rec, schema, err := Open(filepath.Join(dir, filepath.FromSlash(c.path)))
			if err != nil {
				t.Fatal(err)
			}
			if !schema.Public() || schema.Target.Name != c.target || schema.Dim() != c.cols {
				t.Errorf("target %q, %d columns, source %q", schema.Target.Name, schema.Dim(), schema.Source)
			}
			if got := rec.Cells[0][:2]; !slices.Equal(got, c.first) {
				t.Errorf("the first row begins with %q", got)
			}
			table := encode(t, rec, schema)
			if table.Rows() != c.rows || table.Cols() != c.cols {
				t.Errorf("%d x %d, want %d x %d", table.Rows(), table.Cols(), c.rows, c.cols)
			}
			n := table.Notes
			if len(n.Clipped)+len(n.Missing)+len(n.Unseen)+len(n.Ignored)+n.Dropped != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// What this package has and what a folder has are read alike, and a folder's files come
// first.
func TestFolderComesFirst(t *testing.T) {
	dir := files(t)
	for _, c := range []struct {
		name string
		read func(dir string) (*dataset.Records, error)
	}{
		{"adult", Adult},
		{"red wine", func(dir string) (*dataset.Records, error) { return Wine(dir, "red") }},
		{"white wine", func(dir string) (*dataset.Records, error) { return Wine(dir, "white") }},
		{"abalone", Abalone},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, err := c.read("")
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := c.read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(own.Header, theirs.Header) || !slices.EqualFunc(own.Cells, theirs.Cells,
				slices.Equal) {
				t.Error("the two differ")
			}
		})
	}
	write(t, filepath.Join(dir, "abalone", "abalone.data"), "M,1,1,1,1,1,1,1,7\n")
	if rec, err := Abalone(dir); err != nil || len(rec.Cells) != 1 {
		t.Errorf("the folder's file was not read: %v", err)
	}
}

func TestOpenFolder(t *testing.T) {
	dir := files(t)
	for _, path := range []string{filepath.Join(dir, "wine"), dir} {
		if _, _, err := Open(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	if _, _, err := Open(filepath.Join(dir, "absent.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The schemas are valid, and their canonical form is read back as it is written.
func TestSchemasAreCanonical(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema *dataset.Schema
	}{{"adult", adultSchema()}, {"wine", WineSchema()}, {"abalone", AbaloneSchema()}} {
		t.Run(c.name, func(t *testing.T) {
			b, err := c.schema.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			back, err := dataset.ParseSchema(b)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := back.Canonical(); err != nil || string(again) != string(b) {
				t.Errorf("%s, %v, want %s", again, err, b)
			}
		})
	}
}

// positive is the fraction of rows with a positive target.
func positive(t *dataset.Table) (share float64) {
	n := 0
	for _, y := range t.Y {
		if y > 0 {
			n++
		}
	}
	return float64(n) / float64(len(t.Y))
}

// The published split sizes on the real file: rows as in [DP-PVI], table 2, and class
// fractions within what another half of the rows changes: lambda moves by less than .003
// (1.5 standard deviations), 4 lambda - 3 by less than .012. The seed is fixed.
func TestAdultClientSplit(t *testing.T) {
	rec, err := Adult("")
	if err != nil {
		t.Fatal(err)
	}
	table := encode(t, rec, adultSchema())
	halves, err := dataset.Partition(table.Rows(), 1, .5)
	if err != nil {
		t.Fatal(err)
	}
	train, err := table.Select(halves[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		rho, kappa float64
		small      int // rows of the first client
		lambda     float64
	}{
		{"balanced", 0, 0, 2442, .76},
		{"unbalanced 1", .75, .95, 610, .99},
		{"unbalanced 2", .7, -3, 732, .03},
	} {
		t.Run(c.name, func(t *testing.T) {
			split := dataset.ClientSplit{Clients: 10, Rho: c.rho, Kappa: c.kappa, Seed: 1}
			parts, err := split.Split(train.Y, true)
			if err != nil {
				t.Fatal(err)
			}
			small, err := train.Select(parts[0])
			if err != nil {
				t.Fatal(err)
			}
			if small.Rows() != c.small || math.Abs(1-positive(small)-c.lambda) > .013 {
				t.Errorf("%d rows, majority %.4f; want %d, %.2f", small.Rows(), 1-positive(small), c.small,
					c.lambda)
			}
		})
	}
}
