package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
)

// Warnings name the columns as the file does: a categorical column has no encoded one
// of its name.
func TestNotesNameSourceColumns(t *testing.T) {
	table := &dataset.Table{
		Columns: []string{"age", "ward=A", "ward=B", dataset.Bias},
		Notes: dataset.Notes{
			Clipped: map[string]int{"age": 3},
			Unseen:  map[string]int{"ward": 2},
			Missing: map[string]int{"ward": 1, "age": 4},
			Dropped: 5,
		},
	}
	schema := &dataset.Schema{Columns: []dataset.Column{dataset.Numeric("age", 20, 80.2468),
		dataset.Categorical("ward", "A", "B")}}
	want := []string{
		"column age: 3 values outside their public range, clipped",
		"column ward: 2 values of categories that the schema doesn't list",
		"column age: 4 values missing: at the mean where a session measures it, and at 50.123 elsewhere",
		"column ward: 1 value missing",
		"5 rows left out for a missing value",
	}
	if got := notes(table, schema); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLeftOutIsSaid: a file with a number for each patient and a day learns from the other columns and names
// those two, but for one that the user describes.
func TestLeftOutIsSaid(t *testing.T) {
	var b strings.Builder
	b.WriteString("patient_id,seen,age,ill\n")
	for n := range 100 {
		fmt.Fprintf(&b, "%d,2024-%02d-%02d,%d,%d\n", n, 1+n%12, 1+n%28, 20+n%50, n/5%2)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		named []dataset.Column
		left  string
		dim   int
	}{
		{nil, "patient_id, seen", 2},
		{[]dataset.Column{dataset.Numeric("patient_id", 0, 200)}, "seen", 3},
	} {
		d, err := Source{Path: path, Target: "ill", Columns: c.named, Parties: 3, Train: 0.8}.Load()
		if err != nil {
			t.Fatal(err)
		}
		if d.Schema.Dim() != c.dim || !slices.ContainsFunc(d.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "left out as identifiers, dates, free text or constants: "+c.left+" (")
		}) {
			t.Errorf("%d columns, warnings %q", d.Schema.Dim(), d.Warnings)
		}
	}
}

// TestLeftOverIsSaid: rows that no party gets, since the parties' numbers are rounded down, are counted.
func TestLeftOverIsSaid(t *testing.T) {
	for rows, want := range map[int]string{500: "", 505: "4 of 404 rows to learn from are left over"} {
		d, err := Source{Rows: rows, Seed: 1, Parties: 5, Train: 0.8}.Load()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(d.Warnings, "; ")
		if (got != "") != (want != "") || !strings.HasPrefix(got, want) {
			t.Errorf("%d rows: %q, want %q", rows, got, want)
		}
	}
}
