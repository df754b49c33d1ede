package experiment

import (
	"slices"
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
	schema := &dataset.Schema{Columns: []dataset.Column{dataset.Numeric("age", 20, 80),
		dataset.Categorical("ward", "A", "B")}}
	want := []string{
		"column age: 3 values outside their public range, clipped",
		"column ward: 2 values of categories that the schema doesn't list",
		"column age: 4 values missing, which count as the mean where a session measures it, and as 50 " +
			"elsewhere",
		"column ward: 1 values missing",
		"5 rows left out for a missing value",
	}
	if got := notes(table, schema); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
