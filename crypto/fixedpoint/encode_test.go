package fixedpoint

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

type fieldElement = field.Element

func TestFieldRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int64Range(-field.MaxSigned, field.MaxSigned), 0, 10).Draw(t, "v")
		e, back := make(field.Vector, len(v)), make([]int64, len(v))
		if err := ToField(e, v); err != nil {
			t.Fatal(err)
		}
		FromField(back, e)
		if !slices.Equal(back, v) {
			t.Fatalf("%v came back as %v", v, back)
		}
	})
}

// TestFieldSumsAreIntegerSums is what the whole protocol relies on.
func TestFieldSumsAreIntegerSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "parties")
		sum, want := make(field.Vector, 3), make([]int64, 3)
		for range n {
			limit := field.MaxSigned / int64(n)
			v := rapid.SliceOfN(rapid.Int64Range(-limit, limit), 3, 3).Draw(t, "v")
			e := make(field.Vector, 3)
			if err := ToField(e, v); err != nil {
				t.Fatal(err)
			}
			sum.Add(e)
			for i := range want {
				want[i] += v[i]
			}
		}
		got := make([]int64, 3)
		if FromField(got, sum); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestToFieldRejections(t *testing.T) {
	for _, bad := range []int64{field.MaxSigned + 1, -field.MaxSigned - 1, math.MaxInt64, math.MinInt64} {
		dst := field.Vector{7, 7, 7}
		err := ToField(dst, []int64{1, bad, bad})
		if !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), "coordinate 1") {
			t.Errorf("%d: %v, want ErrRange at coordinate 1", bad, err)
		}
		if !dst.Equal(field.Vector{0, 0, 0}) {
			t.Errorf("%d: a part of the vector is left in dst", bad)
		}
	}
	if err := ToField(make(field.Vector, 1), make([]int64, 2)); !errors.Is(err, ErrLength) {
		t.Errorf("different lengths: %v, want ErrLength", err)
	}
}
