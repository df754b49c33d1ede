package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// Array is a numeric array of at most two dimensions, row-major, of finite values, as in a
// .npy file.
type Array struct {
	Shape []int // () for a single number, (n) or (rows, columns); a dimension may be 0
	Data  []float64
	// Text: the values are the bytes of a text, stored as u1 rather than f8. ReadNPZ sets
	// it for every array of u1.
	Text bool
}

// NewVector returns a one-dimensional array that keeps data.
func NewVector(data []float64) *Array { return &Array{Shape: []int{len(data)}, Data: data} }

// NewText returns a text as an array of bytes.
func NewText(s []byte) *Array {
	a := &Array{Shape: []int{len(s)}, Data: make([]float64, len(s)), Text: true}
	for i, c := range s {
		a.Data[i] = float64(c)
	}
	return a
}

// Bytes returns the text of a one-dimensional array of u1, nil for other arrays.
func (a *Array) Bytes() []byte {
	if !a.Text || len(a.Shape) != 1 {
		return nil
	}
	b := make([]byte, len(a.Data))
	for i, v := range a.Data {
		b[i] = byte(v)
	}
	return b
}

// tuple returns a shape as a Python tuple.
func tuple(shape []int) string {
	var b strings.Builder
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	return "(" + b.String() + ")"
}

// writeNPY writes the array in format 1.0, as numpy.save does: u1 if it is Text,
// else <f8.
func (a *Array) writeNPY(w io.Writer) error {
	if n := (&npyHeader{shape: a.Shape}).count(); n != len(a.Data) || len(a.Shape) > 2 {
		return badDataf("npy: %d values in an array of shape %s", len(a.Data), tuple(a.Shape))
	}
	descr := "<f8"
	if a.Text {
		descr = "|u1"
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(a.Shape))
	pad := 64 - (10+len(head)+1)%64
	head += strings.Repeat(" ", pad%64) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	b = append(b, head...)
	for _, v := range a.Data {
		if a.Text {
			b = append(b, byte(v))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	_, err := w.Write(b)
	return err
}
