package randhie

import (
	"math"
	"testing"
)

// TestRows: 6308 of the years have no visit (31.2 %), counted in the file by other means,
// and the columns are within their public bounds: nothing was clipped.
func TestRows(t *testing.T) {
	records, err := Records()
	if err != nil {
		t.Fatal(err)
	}
	table, err := records.Encode(Schema())
	if err != nil {
		t.Fatal(err)
	}
	none := 0
	for _, y := range table.Y {
		if y == 0 {
			none++
		}
	}
	if table.Rows() != rows || table.Cols() != 10 || none != 6308 || !table.Classification ||
		!Schema().Public() {
		t.Errorf("%d rows of %d columns, %d without a visit", table.Rows(), table.Cols(), none)
	}
	if len(table.Notes.Clipped)+len(table.Notes.Missing)+len(table.Notes.Unseen)+table.Notes.Dropped > 0 {
		t.Errorf("the schema bent rows: %+v", table.Notes)
	}
	// Share of rows with an individual deductible plan: .26.
	idp := 0.0
	for i := range rows {
		idp += table.Row(i)[1] / rows
	}
	if math.Abs(idp-0.25998) > 1e-5 {
		t.Errorf("individual deductible plans: %v", idp)
	}
}
