package share

import (
	"encoding/hex"
	"testing"

	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/vectortest"
)

const (
	vectorsPath = "../../testdata/share/v2.json"
	vectorCases = 9
)

// vectorCase is a vector, the keys of the seed nodes, and the explicit share.
type vectorCase struct {
	X        string   `json:"x"` // all hexadecimal
	Keys     []string `json:"keys"`
	Explicit string   `json:"explicit"`
}

type vectorFile struct {
	Version int          `json:"version"`
	Cases   []vectorCase `json:"cases"`
}

// explicit computes the explicit share from the inputs.
func (c vectorCase) explicit(t *testing.T) string {
	t.Helper()
	x := make(field.Vector, len(vectortest.Unhex(t, c.X))/field.ElementSize)
	if err := field.DecodeVector(x, vectortest.Unhex(t, c.X)); err != nil {
		t.Fatal(err)
	}
	var others []*xof.Stream
	for _, k := range c.Keys {
		s, err := xof.New(xof.Key(vectortest.Unhex(t, k)))
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, s)
	}
	Explicit(x, others)
	return hex.EncodeToString(field.AppendVector(nil, x))
}

func TestVectors(t *testing.T) {
	file := vectortest.Load(t, vectorsPath, func() vectorFile { return freshVectors(t) })
	if file.Version != 2 || len(file.Cases) != vectorCases {
		t.Fatalf("version %d, %d cases", file.Version, len(file.Cases))
	}
	for i, c := range file.Cases {
		if len(c.Explicit) == 0 || c.explicit(t) != c.Explicit {
			t.Errorf("case %d: the explicit share is not the recorded one", i)
		}
	}
}

func freshVectors(t *testing.T) vectorFile {
	t.Helper()
	file := vectorFile{Version: 2}
	for i := range vectorCases {
		var x field.Vector
		for j := range 1 + i {
			x = append(x, field.Mul(field.Element(field.Modulus-1-uint64(i)), field.Element(j*j+1)))
		}
		c := vectorCase{X: hex.EncodeToString(field.AppendVector(nil, x))}
		for j := range 1 + i {
			key := make([]byte, xof.KeySize)
			key[0], key[31] = byte(i), byte(j)
			c.Keys = append(c.Keys, hex.EncodeToString(key))
		}
		c.Explicit = c.explicit(t)
		file.Cases = append(file.Cases, c)
	}
	return file
}
