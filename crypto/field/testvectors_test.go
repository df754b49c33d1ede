package field

import (
	"encoding/hex"
	"testing"

	"choir/internal/vectortest"
)

const vectorsPath = "../../testdata/field/v1.json"

// vectorCase is one pair of elements and everything that comes out of it. Numbers
// are decimal strings, because JSON readers round large ones.
type vectorCase struct {
	A        Element `json:"a,string"`
	B        Element `json:"b,string"`
	Sum      Element `json:"sum,string"`
	Diff     Element `json:"difference,string"`
	Product  Element `json:"product,string"`
	Negative Element `json:"negative_a,string"`
	Signed   int64   `json:"signed_a,string"`
	Encoding string  `json:"encoding_a_b"` // hexadecimal
}

type vectorFile struct {
	Version int          `json:"version"`
	Modulus uint64       `json:"modulus,string"`
	Cases   []vectorCase `json:"cases"`
}

// computed returns the case that a and b lead to.
func computed(a, b Element) vectorCase {
	return vectorCase{
		A: a, B: b,
		Sum: Add(a, b), Diff: Sub(a, b), Product: Mul(a, b), Negative: Neg(a), Signed: a.Int64(),
		Encoding: hex.EncodeToString(AppendVector(nil, Vector{a, b})),
	}
}

func TestVectors(t *testing.T) {
	file := vectortest.Load(t, vectorsPath, func() vectorFile { return freshVectors(t) })
	if file.Version != 1 || file.Modulus != Modulus || len(file.Cases) != len(interesting)*len(interesting) {
		t.Fatalf("version %d, modulus %d, %d cases", file.Version, file.Modulus, len(file.Cases))
	}
	for i, c := range file.Cases {
		if got := computed(c.A, c.B); got != c {
			t.Errorf("case %d: got %+v, want %+v", i, got, c)
		}
	}
}

func freshVectors(t *testing.T) vectorFile {
	t.Helper()
	file := vectorFile{Version: 1, Modulus: Modulus}
	for _, a := range interesting {
		for _, b := range interesting {
			file.Cases = append(file.Cases, computed(Element(a), Element(b)))
		}
	}
	return file
}
