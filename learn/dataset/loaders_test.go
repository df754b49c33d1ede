package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A .npy matrix is learnt from like a CSV of the same numbers.
func TestLoadRecordsOfNPY(t *testing.T) {
	dir := t.TempDir()
	m := &Matrix{Rows: 3, Cols: 3, Data: []float64{1, 0.1, 0, 2, -1e-300, 1, 3, 1.7976931348623157e308, 0}}
	f, err := os.Create(filepath.Join(dir, "m.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.writeNPY(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	rec, err := LoadRecords(filepath.Join(dir, "m.npy"))
	if err != nil || !slices.Equal(rec.Header, []string{"x1", "x2", "x3"}) || len(rec.Cells) != 3 {
		t.Fatalf("%+v, %v", rec, err)
	}
	for i, cells := range rec.Cells {
		for j, cell := range cells {
			if v, err := parseNumber(cell); err != nil || v != m.Row(i)[j] {
				t.Errorf("row %d, column %d: %q is %v, %v, want %v", i, j, cell, v, err, m.Row(i)[j])
			}
		}
	}
	made := &Schema{Version: SchemaVersion, Source: "a test", Target: Binary("x3", "0", "1"),
		Columns: []Column{Numeric("x1", 0, 4)}, Missing: Refuse, Unseen: Refuse}
	table, err := rec.Encode(made)
	if err != nil || !slices.Equal(table.Y, []float64{0, 1, 0}) ||
		!slices.Equal(table.X, []float64{-0.5, 1, 0, 1, 0.5, 1}) {
		t.Errorf("%+v, %v", table, err)
	}
	if _, err := LoadRecords(filepath.Join(dir, "n.npy")); err == nil {
		t.Error("a file that isn't there was read")
	}
}

// A constant column is left out. One that is kept has no information and does no harm: it is encoded as
// zeros, and a later value that differs is clipped to a finite number and noted.
func TestConstantColumns(t *testing.T) {
	rec := read(t, "age,site,grade,n,ill\n50,A,7,1,no\n50,A,7,2,yes\n50,A,,3,no\n")
	bare, err := rec.InferSchema("ill", true)
	if err != nil {
		t.Fatal(err)
	}
	if left := bare.LeftOut(rec.Header); !slices.Equal(left, []string{"age", "site", "grade"}) {
		t.Errorf("left out %q", left)
	}
	check, err := rec.Check(bare)
	if err != nil || check.Columns[0].Constant || check.Columns[1].Constant {
		t.Errorf("%+v, %v", check, err)
	}
	rec = read(t, "age,site,grade,ill\n50,A,7,no\n50,A,7,yes\n50,A,7,no\n")
	schema, err := rec.InferSchema("ill", true, "age", "site", "grade")
	if err != nil {
		t.Fatal(err)
	}
	if check, err = rec.Check(schema); err != nil || check.Columns[0].Constant || !check.Columns[1].Constant ||
		!check.Columns[2].Constant {
		t.Errorf("%+v, %v", check, err)
	}
	table, err := rec.Encode(schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows() {
		if want := []float64{0, 1, 0, 1}; !slices.Equal(table.Row(i), want) { // age, site=A, grade, bias
			t.Errorf("row %d is %v, want %v", i, table.Row(i), want)
		}
	}
	later, err := read(t, "age,site,grade,ill\n99,B,-3,no\n").Encode(schema)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{49, 0, 0, 1}; !slices.Equal(later.Row(0), want) {
		t.Errorf("another value is %v, want %v", later.Row(0), want)
	}
	if n := later.Notes; n.Clipped["grade"] != 1 || n.Unseen["site"] != 1 || n.Clipped["age"] != 0 {
		t.Errorf("notes %+v", n)
	}
}
