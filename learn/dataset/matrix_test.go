package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// npy builds a file as numpy.save lays it out, around any header text.
func npy(major byte, header string, payload []byte) []byte {
	b := append([]byte(npyMagic), major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), payload...)
}

func le64(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func le32(values ...uint32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

const f8Header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }   \n"

func header(descr string) string { return strings.Replace(f8Header, "<f8", descr, 1) }

func TestLoadNPYTypes(t *testing.T) {
	two := uint64(1) << 53
	for name, c := range map[string]struct {
		file []byte
		want []float64
	}{
		"f8": {npy(1, f8Header, le64(math.Float64bits(1.5), math.Float64bits(-2))), []float64{1.5, -2}},
		"f4": {npy(1, header("<f4"), le32(math.Float32bits(1.5), math.Float32bits(-2))),
			[]float64{1.5, -2}},
		"i4":       {npy(1, header("<i4"), le32(7, math.MaxUint32)), []float64{7, -1}},
		"i8":       {npy(1, header("<i8"), le64(two, -two)), []float64{1 << 53, -(1 << 53)}},
		"format 2": {npy(2, f8Header, le64(0, 0)), []float64{0, 0}},
		"format 3": {npy(3, f8Header, le64(0, 0)), []float64{0, 0}},
		"compact": {npy(1, "{\"shape\":(1,2),'descr':'<i4','fortran_order':False}\n", le32(1, 2)),
			[]float64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := loadNPY(bytes.NewReader(c.file))
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if m.Rows != 1 || m.Cols != 2 || !slices.Equal(m.Data, c.want) {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestLoadNPYRefuses(t *testing.T) {
	body := le64(0, 0)
	bad := func(old, new string) []byte { return npy(1, strings.Replace(f8Header, old, new, 1), body) }
	for name, file := range map[string][]byte{
		"empty":          nil,
		"magic":          append([]byte("NUMPY!"), npy(1, f8Header, body)[6:]...),
		"format 4":       npy(4, f8Header, body),
		"short header":   npy(1, f8Header, nil)[:20],
		"long header":    npy(2, strings.Repeat(" ", maxNPYHeader+1), body),
		"big endian":     bad("<f8", ">f8"),
		"object":         bad("<f8", "|O"),
		"fortran":        bad("False", "True"),
		"one dimension":  bad("(1, 2)", "(2,)"),
		"scalar":         bad("(1, 2)", "()"),
		"three":          bad("(1, 2)", "(1, 2, 1)"),
		"no rows":        bad("(1, 2)", "(0, 2)"),
		"negative":       bad("(1, 2)", "(-1, 2)"),
		"huge":           bad("(1, 2)", "(2147483647, 2147483647)"),
		"overflow":       bad("(1, 2)", "(99999999999999999999, 2)"),
		"key twice":      bad("'shape'", "'descr': '<f8', 'shape'"),
		"unknown key":    bad("'shape'", "'x': 1, 'shape'"),
		"key missing":    bad("'fortran_order': False, ", ""),
		"no newline":     bad("\n", " "),
		"text after":     bad("}   ", "} x "),
		"short data":     npy(1, f8Header, body[:15]),
		"trailing data":  npy(1, f8Header, append(slices.Clone(body), 0)),
		"NaN":            npy(1, f8Header, le64(0, math.Float64bits(math.NaN()))),
		"infinite":       npy(1, header("<f4"), le32(math.Float32bits(float32(math.Inf(-1))), 0)),
		"inexact":        npy(1, header("<i8"), le64(1<<53+1, 0)),
		"minimum of int": npy(1, header("<i8"), le64(1<<63, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := loadNPY(bytes.NewReader(file)); !errors.Is(err, ErrBadData) || m != nil {
				t.Errorf("%v", err)
			}
		})
	}
	// The place that is named is where the data ends.
	if _, err := loadNPY(bytes.NewReader(npy(1, f8Header, body[:15]))); !strings.Contains(err.Error(),
		"row 0, column 1") {
		t.Errorf("short data: %v", err)
	}
}

func TestNPYRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Matrix{Rows: rapid.IntRange(1, 9).Draw(t, "rows"), Cols: rapid.IntRange(1, 9).Draw(t, "cols")}
		m.Data = rapid.SliceOfN(rapid.Float64(), m.Rows*m.Cols, m.Rows*m.Cols).Draw(t, "data")
		var buf bytes.Buffer
		if err := m.writeNPY(&buf); err != nil {
			t.Fatal(err)
		}
		if (buf.Len()-8*len(m.Data))%64 != 0 {
			t.Fatalf("data starts at %d, not at a multiple of 64", buf.Len()-8*len(m.Data))
		}
		back, err := loadNPY(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLoadCSVMatrix(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    Matrix
		columns []string
	}{
		"plain":     {"1,2\n3,-4e-1\n", Matrix{Rows: 2, Cols: 2, Data: []float64{1, 2, 3, -.4}}, nil},
		"header":    {"a,b\n1,2\n", Matrix{Rows: 1, Cols: 2, Data: []float64{1, 2}}, []string{"a", "b"}},
		"sodium":    {"NA,K\n1,2\n", Matrix{Rows: 1, Cols: 2, Data: []float64{1, 2}}, []string{"NA", "K"}},
		"index":     {",a\n1,2\n", Matrix{Rows: 1, Cols: 2, Data: []float64{1, 2}}, []string{"", "a"}},
		"semicolon": {"1; 2\n", Matrix{Rows: 1, Cols: 2, Data: []float64{1, 2}}, nil},
		"column":    {"1\n2\n\n3", Matrix{Rows: 3, Cols: 1, Data: []float64{1, 2, 3}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Columns = c.columns
			got, err := loadCSVMatrix(strings.NewReader(c.text), "m.csv")
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
}

func TestLoadCSVMatrixRejects(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		line   int
		column string
	}{
		"mixed first line": {"1,x\n2,3\n", 1, "#2"},
		"short":            {"1,2\n3\n", 2, "#2"},
		"long":             {"a,b\n1,2\n3,4,5\n", 3, "b"},
		"word":             {"a,b\n1,2\n3,y\n", 3, "b"},
		"nan":              {"1,nan\n", 1, "#2"},
		"quote":            {"a,b\n1,\"2\n", 2, "b"},
		"empty cell":       {"1,2\n,3\n", 2, "#1"},
		"nothing":          {"", 0, ""},
		"header only":      {"a,b\n", 0, ""},
		// A row that is no header, and must not go missing as one.
		"first not finite": {"nan,inf\n1,4\n2,3\n", 1, "#2"},
		"first missing":    {"?,\n1,4\n", 1, "#2"},
		"first absent":     {"NA,-Inf\n1,4\n", 1, "#2"},
		"first too large":  {"x,1e400\n1,4\n", 1, "#2"},
		"decimal commas":   {"1,5;2,5\n3;4\n", 1, "#2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadCSVMatrix(strings.NewReader(c.text), "m.csv")
			var le *LineError
			if !errors.As(err, &le) || le.Line != c.line || le.Column != c.column || le.File != "m.csv" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestLoadMatrix(t *testing.T) {
	dir := t.TempDir()
	want := &Matrix{Rows: 2, Cols: 1, Data: []float64{3, 4}}
	var buf bytes.Buffer
	if err := want.writeNPY(&buf); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"m.npy": buf.String(), "m.csv": "3\n4\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := LoadMatrix(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
	if _, err := LoadMatrix(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// Arbitrary bytes give a matrix that is written and read again as an equal one, or
// ErrBadData.
func FuzzLoadNPY(f *testing.F) {
	f.Add(npy(1, f8Header, le64(0, 1)))
	f.Add(npy(2, header("<i4"), le32(1, 2)))
	f.Add(npy(1, "{\"shape\":(1,2,),'descr':'<f4','fortran_order':False}\n", le32(1, 2)))
	f.Add(npy(1, header(">f8"), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := loadNPY(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var buf bytes.Buffer
		if err := m.writeNPY(&buf); err != nil {
			t.Fatal(err)
		}
		back, err := loadNPY(&buf)
		if err != nil || !cmp.Equal(m, back) {
			t.Fatalf("does not round-trip: %v", err)
		}
	})
}

func FuzzLoadCSVMatrix(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("1;2\n3;4")
	f.Add("\ufeff1\n\"2\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := loadCSVMatrix(strings.NewReader(text), "fuzz")
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if m.Rows < 1 || m.Cols < 1 || len(m.Data) != m.Rows*m.Cols {
			t.Fatalf("%d x %d with %d values", m.Rows, m.Cols, len(m.Data))
		}
		for _, v := range m.Data {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%v", v)
			}
		}
	})
}

// writeNPY writes the matrix as <f8 in format 1.0, as numpy.save does.
func (m *Matrix) writeNPY(w io.Writer) error {
	if err := (&Array{Shape: []int{m.Rows, m.Cols}, Data: m.Data}).writeNPY(w); err != nil {
		return fmt.Errorf("dataset: write npy: %w", err)
	}
	return nil
}
