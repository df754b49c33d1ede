package party

import (
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
	"pgregory.net/rapid"
)

// marshalOutbox is an outbox as it is stored.
func marshalOutbox(seed noise.Seed, update []int64) []byte {
	outbox, _ := packOutbox(nil, update, math.MaxUint64)
	completeOutbox(outbox, seed)
	return outbox
}

// TestPackedOnce: wherever in an update the widest coordinate is, what is packed is as wide
// as that one and no wider, the sum of squares is that of the coordinates, each once, and
// they come back, on top of samples that need not be where they go.
func TestPackedOnce(t *testing.T) {
	for _, n := range []int{1, 3, 4, 8, 13, blockElements - 1, blockElements, blockElements + 1, 3*blockElements + 2} {
		for _, at := range []int{0, n / 2, n - 1} {
			for width := range 8 {
				update := benchUpdate(byte(n), n, max(width, 1)) // a bit less than width
				if width == 0 {
					clear(update)
				} else {
					update[0], update[at] = -1, 1<<(8*width-2)
				}
				packed, squares := appendPacked([]byte{7}, update)
				var want fixedpoint.Squares
				if want.Add(update); squares != want {
					t.Fatalf("%d coordinates, the widest at %d: sum of squares %v, want %v", n, at, squares, want)
				}
				samples, got := slices.Repeat([]int64{3}, n), make([]int64, n)
				err := addPacked(got, samples, packed[1:], n, 0)
				if err != nil || int(packed[1]) != width || packed[0] != 7 {
					t.Fatalf("%d coordinates, the widest, %d, at %d: packed %d wide: %v", n, update[at], at, packed[1], err)
				}
				for i := range got {
					if got[i] -= 3; samples[i] != 3 {
						t.Fatal("the samples are written to")
					}
				}
				if !slices.Equal(got, update) {
					t.Fatalf("%d coordinates, the widest, %d, at %d: others come back", n, update[at], at)
				}
			}
		}
	}
	for _, c := range []struct {
		bound  uint64
		within bool
	}{{5, true}, {4, false}} {
		if _, within := packOutbox(nil, []int64{3, 0, -4}, c.bound); within != c.within {
			t.Errorf("a norm of 5 is within %d: %t", c.bound, within)
		}
	}
}

// TestUpdatesRoundTrip: whatever their size, and from any coordinate on.
func TestUpdatesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := int64(1) << rapid.IntRange(0, 62).Draw(t, "bits")
		update := rapid.SliceOfN(rapid.Int64Range(-bound, bound), 1, 40).Draw(t, "update")
		if rapid.IntRange(0, 9).Draw(t, "extremes") == 0 {
			update[0] = rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, -1, 0, 127, 128, -128, -129}).Draw(t, "extreme")
		}
		seed := noise.Seed{5}
		b := marshalOutbox(seed, update)
		gotSeed, packed, err := unmarshalOutbox(b)
		if err != nil || gotSeed != seed {
			t.Fatal(err)
		}
		if len(packed) > 8*len(update)+1 {
			t.Fatalf("%d coordinates take %d bytes", len(update), len(packed))
		}
		from := rapid.IntRange(0, len(update)-1).Draw(t, "from")
		got := slices.Repeat([]int64{3}, rapid.IntRange(0, len(update)-from).Draw(t, "n"))
		if err := addPacked(got, got, packed, len(update), from); err != nil {
			t.Fatal(err)
		}
		for i, x := range got {
			if x != update[from+i]+3 {
				t.Fatalf("coordinate %d: %d, want %d + 3", from+i, x, update[from+i])
			}
		}
	})
}

// TestWidths: the width is the smallest that two's complement allows.
func TestWidths(t *testing.T) {
	for width := 1; width <= 8; width++ {
		most := int64(1)<<(8*width-1) - 1
		for _, x := range []int64{most, -most - 1} {
			if got, _ := appendPacked(nil, []int64{0, x}); int(got[0]) != width || len(got) != 1+2*width+8-width {
				t.Errorf("%d takes %d bytes in %d", x, got[0], len(got))
			}
		}
		if width < 8 {
			if got, _ := appendPacked(nil, []int64{most + 1}); int(got[0]) != width+1 {
				t.Errorf("%d takes %d bytes", most+1, got[0])
			}
		}
	}
	if got, _ := appendPacked(nil, make([]int64, 100)); len(got) != 1 || got[0] != 0 {
		t.Errorf("zeros take %d bytes", len(got))
	}
}

// FuzzOutbox: nothing that was damaged is taken for an update, and nothing panics.
func FuzzOutbox(f *testing.F) {
	f.Add(marshalOutbox(noise.Seed{1}, []int64{1, -2, 300}), 3)
	f.Add(marshalOutbox(noise.Seed{}, []int64{0, 0}), 2)
	f.Add([]byte{}, 0)
	f.Add(make([]byte, 37), 1)
	f.Fuzz(func(t *testing.T, b []byte, dim int) {
		if dim < 1 || dim > 1<<10 {
			return
		}
		seed, packed, err := unmarshalOutbox(b)
		if err != nil {
			return
		}
		update := make([]int64, dim)
		if err := addPacked(update, update, packed, dim, 0); err != nil {
			return
		}
		if s, again, err := unmarshalOutbox(marshalOutbox(seed, update)); err != nil || s != seed || len(again) > len(packed)+8 {
			t.Fatalf("%d coordinates in %d bytes come back in %d: %v", dim, len(packed), len(again), err)
		}
	})
}
