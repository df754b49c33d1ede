package field

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pair draws two vectors of one length, 0 to 20.
func pair(t *rapid.T) (v, w Vector) {
	n := rapid.IntRange(0, 20).Draw(t, "n")
	return rapid.SliceOfN(elements(), n, n).Draw(t, "v"), rapid.SliceOfN(elements(), n, n).Draw(t, "w")
}

func TestVectorsAreCoordinatewise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := pair(t)
		sum := slices.Clone(v)
		difference := slices.Clone(v)
		negative := slices.Clone(v)
		kept := slices.Clone(w)
		sum.Add(w)
		difference.Sub(w)
		negative.Neg()
		for i := range v {
			if sum[i] != Add(v[i], w[i]) || difference[i] != Sub(v[i], w[i]) || negative[i] != Neg(v[i]) {
				t.Fatalf("coordinate %d differs from the elements' arithmetic", i)
			}
		}
		if !slices.Equal(w, kept) {
			t.Fatal("the argument was changed")
		}
	})
}

func TestVectorsMayBeTheSame(t *testing.T) {
	v := Vector{1, Element(Modulus - 1), 5}
	v.Add(v)
	if want := (Vector{2, Element(Modulus - 2), 10}); !v.Equal(want) {
		t.Fatalf("v + v = %v, want %v", v, want)
	}
	v.Sub(v)
	if !v.Equal(make(Vector, 3)) {
		t.Fatalf("v - v = %v", v)
	}
}

func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := pair(t)
		if got, want := v.Equal(w), slices.Equal(v, w); got != want {
			t.Fatalf("Equal is %v, want %v", got, want)
		}
		if !v.Equal(slices.Clone(v)) || v.Equal(append(slices.Clone(v), 0)) {
			t.Fatal("wrong for a copy, or for a longer vector")
		}
	})
}

func TestDifferentLengthsPanic(t *testing.T) {
	for name, operation := range map[string]func(v, w Vector){"Add": Vector.Add, "Sub": Vector.Sub} {
		for _, lengths := range [][2]int{{2, 3}, {3, 2}, {0, 1}, {1, 0}} {
			t.Run(name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Errorf("lengths %v: no panic", lengths)
					}
				}()
				operation(make(Vector, lengths[0]), make(Vector, lengths[1]))
			})
		}
	}
}

func BenchmarkVectorAdd(b *testing.B) {
	v, w := make(Vector, 1024), make(Vector, 1024)
	b.SetBytes(int64(len(v)) * ElementSize)
	for b.Loop() {
		v.Add(w)
	}
}

// TestSetSigned compares a whole vector with fromInt64, up to the first integer out of range,
// over lengths around whole blocks.
func TestSetSigned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4*block+1).Draw(t, "n")
		rejections := rapid.IntRange(0, 3).Draw(t, "rejections") == 0
		x := make([]int64, n)
		want := slices.Repeat(Vector{7}, n)
		first := n
		for i := range x {
			edge := rapid.SampledFrom([]int64{
				0, 1, -1, MaxSigned, -MaxSigned, MaxSigned - 1, 1 - MaxSigned, 1 << 32, -1 << 32,
			}).Draw(t, "edge")
			x[i] = rapid.OneOf(rapid.Just(edge), rapid.Int64Range(-MaxSigned, MaxSigned)).Draw(t, "x")
			if rejections && rapid.IntRange(0, 20).Draw(t, "here") == 0 {
				x[i] = rapid.SampledFrom([]int64{
					math.MinInt64, math.MaxInt64, MaxSigned + 1, -MaxSigned - 1,
				}).Draw(t, "beyond")
			}
		}
		for i := range x {
			e, ok := fromInt64(x[i])
			if !ok {
				first = i
				break
			}
			want[i] = e
		}
		v := slices.Repeat(Vector{7}, n)
		if got := v.SetSigned(x); got != first {
			t.Fatalf("stopped at %d, want %d", got, first)
		}
		if !v.Equal(want) {
			t.Fatalf("%v, want %v", v, want)
		}
	})
}
