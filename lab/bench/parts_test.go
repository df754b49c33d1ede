package bench

import (
	"strings"
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

// TestScaleRefused checks that bounds which a sweep can't keep are refused before it begins, by flag.
func TestScaleRefused(t *testing.T) {
	for want, s := range map[string]Sweep{
		"max_parties: the sweep begins at 16":                          {MaxParties: 15, MaxDim: 64},
		"max_dim: the sweep begins at 64":                              {MaxDim: -1},
		"max_compute_nodes: the sweep comes to 128":                    {MaxComputes: 500},
		"max_parties: the sweep comes to 262144":                       {MaxParties: 1 << 30},
		"max_parties, max_dim, max_compute_nodes: all sweeps are left": {},
	} {
		out, err := RunScale(t.Context(), s, func(ScalePoint) { t.Errorf("%s: a point was measured", want) })
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.HasPrefix(err.Error(), want) ||
			len(out.Points) > 0 {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOnePoint checks that a sweep of one point has no exponents, and one that is left out no points.
func TestOnePoint(t *testing.T) {
	s, err := RunScale(t.Context(), Sweep{MaxComputes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 1 || len(s.Fits) != 0 || s.Points[0].SecondsRound <= 0 || len(s.Points[0].Traffic) != 3 {
		t.Errorf("%+v", s)
	}
	if text := s.Markdown(); !strings.Contains(text, "| cpu_seconds_round | - | - | - |") {
		t.Error(text)
	}
}

// TestScale: a short sweep has its points and fits.
func TestScale(t *testing.T) {
	s, err := RunScale(t.Context(), Sweep{MaxParties: 64, MaxDim: 512, MaxComputes: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 5 || len(s.Fits) != 10 {
		t.Errorf("%d points, %d fits", len(s.Points), len(s.Fits))
	}
	for _, f := range s.Fits {
		if f.Over == "dim" && f.Of == "upload_bytes_per_party" && !(f.Exponent > 0.7 && f.Exponent <= 1) {
			t.Errorf("the upload grows like d^%g", f.Exponent)
		}
	}
}
