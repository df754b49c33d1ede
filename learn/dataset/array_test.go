package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadNPYShapes(t *testing.T) {
	for name, c := range map[string]struct {
		shape string
		want  []int
		data  []float64
	}{
		"number": {"()", nil, []float64{1}},
		"vector": {"(2,)", []int{2}, []float64{1, 2}},
		"empty":  {"(0, 7)", []int{0, 7}, nil},
		"matrix": {"(2, 1)", []int{2, 1}, []float64{1, 2}},
	} {
		var bits []uint32
		for _, v := range c.data {
			bits = append(bits, uint32(v))
		}
		file := npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': "+c.shape+", }\n", le32(bits...))
		a, err := readNPY(bytes.NewReader(file))
		if err != nil || !slices.Equal(a.Shape, c.want) || !slices.Equal(a.Data, c.data) {
			t.Errorf("%s: %+v, %v, want shape %v and %v", name, a, err, c.want, c.data)
			continue
		}
		if m, err := loadNPY(bytes.NewReader(file)); (err == nil) != (name == "matrix") {
			t.Errorf("%s as a matrix: %v, %v", name, m, err)
		}
	}
	for _, shape := range []string{"(2)", "(1, 1, 1)", "(", "(-1,)", "(1,,)", "(,)", "(70000000,)",
		"(8193, 8193)"} {
		file := npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': "+shape+", }\n", le32(1, 2))
		if a, err := readNPY(bytes.NewReader(file)); !errors.Is(err, ErrBadData) {
			t.Errorf("shape %s: %v, %v, want ErrBadData", shape, a, err)
		}
	}
}

func arrays() Arrays {
	return Arrays{
		"header": NewText([]byte(`{"a": "ü"}`)), "mean": NewVector([]float64{1.5, -2, 0}),
		"x": {Shape: []int{2, 2}, Data: []float64{1, 2, 3, 4}}, "none": {Shape: []int{0, 3}},
		"one": {Shape: nil, Data: []float64{7}},
	}
}

func TestNPZRoundTrip(t *testing.T) {
	var file, again bytes.Buffer
	if err := arrays().WriteNPZ(&file); err != nil {
		t.Fatal(err)
	}
	if err := arrays().WriteNPZ(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("equal arrays gave different files: %v", err)
	}
	back, err := ReadNPZ(&file)
	if err != nil {
		t.Fatal(err)
	}
	empty := cmp.Comparer(func(a, b []float64) bool { return slices.Equal(a, b) })
	if diff := cmp.Diff(arrays(), back, empty); diff != "" {
		t.Error(diff)
	}
	if got := string(back["header"].Bytes()); got != `{"a": "ü"}` || back["mean"].Bytes() != nil {
		t.Errorf("text came back as %q", got)
	}
}

// zipped is a zip of one member.
func zipped(t testing.TB, method uint16, names []string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNPYReadErrors checks that an error of the reader is that of the array, and a file that ends too early
// is reported as such, wherever that is.
func TestNPYReadErrors(t *testing.T) {
	file := npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (20000,), }\n", make([]byte, 4*20000))
	disk := errors.New("the disk is broken")
	header := len(file) - 4*20000
	for _, at := range []int{3, 9, 20, header, header + 1, header + 4<<13, len(file) - 1, len(file)} {
		_, err := readNPY(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(disk)))
		if !errors.Is(err, disk) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a disk that is broken at byte %d: %v", at, err)
		}
		_, err = readNPY(bytes.NewReader(file[:at]))
		if want := at < len(file); errors.Is(err, io.ErrUnexpectedEOF) != want && at >= header {
			t.Errorf("a file of %d bytes: %v", at, err)
		}
	}
}

func TestReadNPZ(t *testing.T) {
	array := npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n", le32(5, 6))
	for _, method := range []uint16{zip.Store, zip.Deflate} { // savez and savez_compressed
		all, err := ReadNPZ(bytes.NewReader(zipped(t, method, []string{"a.npy"}, array)))
		if err != nil || len(all) != 1 || !slices.Equal(all["a"].Data, []float64{5, 6}) {
			t.Errorf("method %d: %v, %v", method, all, err)
		}
	}
	damaged := zipped(t, zip.Store, []string{"a.npy"}, array)
	damaged[bytes.Index(damaged, array)+len(array)-1] ^= 1
	many := make([]string, maxMembers+1)
	for i := range many {
		many[i] = string(rune('A'+i)) + ".npy"
	}
	for name, file := range map[string][]byte{
		"nothing":    nil,
		"text":       []byte("ValueError: no\n"),
		"twice":      zipped(t, zip.Store, []string{"a.npy", "a.npy"}, array),
		"other name": zipped(t, zip.Store, []string{"a.txt"}, array),
		"no name":    zipped(t, zip.Store, []string{".npy"}, array),
		"not npy":    zipped(t, zip.Store, []string{"a.npy"}, []byte("hello")),
		"longer":     zipped(t, zip.Store, []string{"a.npy"}, append(slices.Clone(array), 0)),
		"shorter":    zipped(t, zip.Store, []string{"a.npy"}, array[:len(array)-1]),
		"damaged":    damaged,
		"too many":   zipped(t, zip.Store, many, array),
		"cut short":  zipped(t, zip.Store, []string{"a.npy"}, array)[:60],
		"bigger lies": zipped(t, zip.Deflate, []string{"a.npy"},
			npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (67108865,), }\n", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			if all, err := ReadNPZ(bytes.NewReader(file)); !errors.Is(err, ErrBadData) || all != nil {
				t.Errorf("%v, %v, want ErrBadData", all, err)
			}
		})
	}
}

// An archive may be compressed, but not so that few bytes fill the memory. What needs no compression is
// read up to the limit of all values.
func TestReadNPZBomb(t *testing.T) {
	const n = maxUnpacked + 1<<20
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n", n)
	zeros := npy(1, head, make([]byte, n))
	bomb := zipped(t, zip.Deflate, []string{"a.npy"}, zeros)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadNPZ(bytes.NewReader(bomb))
	runtime.ReadMemStats(&after)
	used := after.TotalAlloc - before.TotalAlloc
	if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), "without compression") || used > 1<<20 {
		t.Errorf("%d bytes for %d: %v", used, len(bomb), err)
	}
	if all, err := ReadNPZ(bytes.NewReader(zipped(t, zip.Store, []string{"a.npy"}, zeros))); err != nil ||
		len(all["a"].Data) != n {
		t.Errorf("without compression: %v", err)
	}
}

// Every archive that is accepted can be written and read again, with the same arrays.
func FuzzReadNPZ(f *testing.F) {
	var file bytes.Buffer
	if err := arrays().WriteNPZ(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(zipped(f, zip.Deflate, []string{"a.npy"}, npy(1,
		"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", []byte("hi"))))
	f.Add([]byte("PK\x05\x06garbage"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ReadNPZ(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatalf("error %v, want ErrBadData", err)
			}
			return
		}
		var out bytes.Buffer
		if err := all.WriteNPZ(&out); err != nil {
			t.Fatal(err)
		}
		back, err := ReadNPZ(&out)
		if err != nil || len(back) != len(all) {
			t.Fatalf("came back as %v, %v", back, err)
		}
		for name, a := range all {
			if !slices.Equal(a.Shape, back[name].Shape) || !slices.Equal(a.Data, back[name].Data) ||
				a.Text != back[name].Text {
				t.Fatalf("array %q came back as %+v", name, back[name])
			}
		}
	})
}
