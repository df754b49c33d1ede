package result

import (
	"fmt"
	"testing"

	"choir/learn/dataset"
)

// TestManyFeatures: many features are named, with the column that has most of them; few are no cause.
func TestManyFeatures(t *testing.T) {
	many := make([]string, 60)
	for i := range many {
		many[i] = fmt.Sprint("note ", i)
	}
	s := &dataset.Schema{Columns: []dataset.Column{dataset.Numeric("age", 0, 100),
		dataset.Categorical("sex", "f", "m"), dataset.Categorical("note", many...)}}
	if got := manyFeatures(s); got != "the schema has 63, 60 of them levels of column note" {
		t.Errorf("%q", got)
	}
	s.Columns = s.Columns[:2]
	if got := manyFeatures(s); got != "" {
		t.Errorf("%q", got)
	}
}
