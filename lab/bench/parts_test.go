package bench

import (
	"testing"

	"choir/protocol"
)

// TestParts: every part runs in small and has its rows.
func TestParts(t *testing.T) {
	rows := map[string]int{"noise": 3, "channel": 6, "verify": 3, "audit": 3}
	for _, name := range parts() {
		t.Run(name, func(t *testing.T) {
			p, err := MeasurePart(name, 1, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Rows) != rows[name] || p.Part != name || p.SchemaVersion != schemaVersion {
				t.Errorf("%d rows: %+v", len(p.Rows), p.Rows)
			}
			for _, r := range p.Rows {
				if r.Seconds < 0 || r.Size <= 0 || r.Case == "" {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	for _, c := range []struct {
		name    string
		repeats int
	}{{"sand", 1}, {"noise", 0}} {
		if _, err := MeasurePart(c.name, c.repeats, true); protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%s, %d: %v", c.name, c.repeats, err)
		}
	}
}

// TestTable1: the smallest cell, and no cell.
func TestTable1(t *testing.T) {
	if len(paperSeconds) != 16 {
		t.Fatalf("the paper's table has 16 cells, not %d", len(paperSeconds))
	}
	calls := 0
	table, err := RunTable1(t.Context(), Grid{MaxParties: 100, MaxDim: 10, Cell: small("", DriverStream, 0)},
		func(Table1, Table1Cell) { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	if calls != 1 || len(table.Cells) != 1 || table.Cells[0].PaperSeconds != 1.72 ||
		table.Cells[0].RoundRatio <= table.Cells[0].TotalRatio {
		t.Errorf("%d calls: %+v", calls, table.Cells)
	}
	if _, err := RunTable1(t.Context(), Grid{MaxParties: 3},
		nil); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("no cells: %v", err)
	}
}

// TestScale: a short sweep has its points and fits.
func TestScale(t *testing.T) {
	s, err := RunScale(t.Context(), Sweep{MaxParties: 64, MaxDim: 512, MaxComputes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 5 || len(s.Fits) != 15 {
		t.Errorf("%d points, %d fits", len(s.Points), len(s.Fits))
	}
	for _, f := range s.Fits {
		if f.Over == "dim" && f.Of == "upload_bytes_per_party" && !(f.Exponent > 0.7 && f.Exponent <= 1) {
			t.Errorf("the upload grows like d^%g", f.Exponent)
		}
	}
}
