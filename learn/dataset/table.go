package dataset

import "fmt"

// Bias is the name of the constant column that every Table has last.
const Bias = "bias"

// Table is a data set ready for a model.
type Table struct {
	Name string
	// Columns names the encoded columns, Bias last.
	Columns []string
	// X has the rows one after the other, len(Y) * len(Columns) values.
	X []float64
	// Y has the targets: 0 or 1 if Classification, else the standardised value.
	Y              []float64
	Classification bool
	// Notes counts the values that the encoder changed. It describes private rows: show it
	// to their owner only.
	Notes Notes
}

// Notes counts, by source column, the values that a schema's policies changed.
type Notes struct {
	Clipped map[string]int // numeric values outside the public range
	Unseen  map[string]int // categories that are not in the schema, encoded as zeros
	Missing map[string]int // missing values, encoded as zeros
	Dropped int            // rows left out for a missing value
	Ignored []string       // columns of the file that the schema does not use
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.Y) }

// Cols returns the number of columns, the bias included.
func (t *Table) Cols() int { return len(t.Columns) }

// Row returns row i as a view into X, capped so that appending cannot reach the next row.
func (t *Table) Row(i int) []float64 {
	d := len(t.Columns)
	return t.X[i*d : (i+1)*d : (i+1)*d]
}

// Select copies the given rows, in the given order, into a new table. The notes are not copied: they
// counted all rows. A row that the table does not have is an error.
func (t *Table) Select(rows []int) (*Table, error) {
	out := &Table{
		Name: t.Name, Columns: t.Columns, Classification: t.Classification,
		X: make([]float64, 0, len(rows)*t.Cols()),
		Y: make([]float64, 0, len(rows)),
	}
	for _, i := range rows {
		if i < 0 || i >= t.Rows() {
			return nil, fmt.Errorf("dataset: row %d of a table with %d rows", i, t.Rows())
		}
		out.X = append(out.X, t.Row(i)...)
		out.Y = append(out.Y, t.Y[i])
	}
	return out, nil
}
