package dataset

import (
	"io"
	"math"
)

// loadCSV reads a delimited file with a header and encodes it.
func loadCSV(r io.Reader, name string, s *Schema) (*Table, error) {
	rec, err := ReadRecords(r, CSVOptions{Name: name})
	if err != nil {
		return nil, err
	}
	return rec.Encode(s)
}

// readNPY reads an array of any shape that a member of a .npz file may have.
func readNPY(r io.Reader) (*Array, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, badDataf("npy: %w", err)
	}
	data, err := h.read(r, 0)
	if err != nil {
		return nil, badDataf("npy: %w", err)
	}
	return &Array{Shape: h.shape, Data: data, Text: h.descr == "|u1"}, nil
}

// rowNorm bounds the L2 norm of every encoded row, including the bias.
func rowNorm(s *Schema) float64 {
	sum := 1.0
	for _, c := range s.Columns {
		b := 1.0
		if c.Numeric != nil {
			b = c.Numeric.bound()
		}
		sum += b * b
	}
	return math.Sqrt(sum)
}

// positive is the fraction of rows with a positive target.
func positive(t *Table) (share float64) {
	for _, y := range t.Y {
		if y > 0 {
			share += 1 / float64(len(t.Y))
		}
	}
	return share
}
