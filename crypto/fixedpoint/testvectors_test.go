package fixedpoint

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"choir/crypto/field"
	"choir/internal/vectortest"
)

const (
	vectorsPath = "../../testdata/fixedpoint/v1.json"
	vectorCases = 40
)

// vectorCase takes a real vector all the way to its encoding. JSON numbers carry
// float64 values exactly; integers may be larger than readers keep, so that they
// are given by their encoding too.
type vectorCase struct {
	FracBits uint8     `json:"frac_bits"`
	Clip     float64   `json:"clip"`
	X        []float64 `json:"x"`

	Bound    uint64  `json:"bound,string"`
	Rounded  []int64 `json:"rounded"`
	Clipped  bool    `json:"clipped"`
	Result   []int64 `json:"result"`
	Encoding string  `json:"encoding"` // hexadecimal
}

type vectorFile struct {
	Version int          `json:"version"`
	Cases   []vectorCase `json:"cases"`
}

// compute fills in what follows from the inputs.
func (c *vectorCase) compute(t *testing.T) {
	t.Helper()
	g := Grid{c.FracBits}
	var err error
	if c.Bound, err = g.IntBound(c.Clip); err != nil {
		t.Fatal(err)
	}
	c.Rounded = make([]int64, len(c.X))
	if err := g.Round(c.Rounded, c.X); err != nil {
		t.Fatal(err)
	}
	c.Result = append([]int64{}, c.Rounded...)
	c.Clipped = ClipInt(c.Result, c.Bound)
	e := make(field.Vector, len(c.Result))
	if err := ToField(e, c.Result); err != nil {
		t.Fatal(err)
	}
	c.Encoding = hex.EncodeToString(field.AppendVector(nil, e))
}

func TestVectors(t *testing.T) {
	file := vectortest.Load(t, vectorsPath, func() vectorFile { return freshVectors(t) })
	if file.Version != 1 || len(file.Cases) != vectorCases {
		t.Fatalf("version %d, %d cases", file.Version, len(file.Cases))
	}
	clipped := 0
	for i, want := range file.Cases {
		got := vectorCase{FracBits: want.FracBits, Clip: want.Clip, X: want.X}
		got.compute(t)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("case %d: got %+v, want %+v", i, got, want)
		}
		if want.Clipped {
			clipped++
		}
	}
	if clipped == 0 || clipped == len(file.Cases) {
		t.Errorf("%d of %d cases are clipped", clipped, len(file.Cases))
	}
}

func freshVectors(t *testing.T) vectorFile {
	t.Helper()
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	file := vectorFile{Version: 1}
	for i := range vectorCases {
		c := vectorCase{FracBits: uint8(i * 52 / (vectorCases - 1)), Clip: 1 + r.Float64()}
		for range 1 + i%6 {
			c.X = append(c.X, math.Round(r.NormFloat64()*float64(uint64(1)<<(i%5))*1e4)/1e4)
		}
		c.compute(t)
		file.Cases = append(file.Cases, c)
	}
	return file
}
