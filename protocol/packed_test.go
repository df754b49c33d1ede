package protocol

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"

	"pgregory.net/rapid"
)

// drawInts draws a vector in which the magnitude differs from block to block.
func drawInts(t *rapid.T) []int64 {
	lengths := []int{0, 1, 2, 7, 8, 9, 100, packedBlock - 1, packedBlock, packedBlock + 1, 2*packedBlock + 3}
	v := make([]int64, rapid.SampledFrom(lengths).Draw(t, "length"))
	for block := range slices.Chunk(v, packedBlock) {
		shift := rapid.IntRange(0, 64).Draw(t, "shift")
		fillInts(block, rapid.Uint64().Draw(t, "seed"), shift)
	}
	return v
}

// fillInts sets v to pseudorandom integers of 64-shift bits.
func fillInts(v []int64, seed uint64, shift int) {
	for i := range v {
		seed = seed*6364136223846793005 + 1442695040888963407
		v[i] = int64(seed) >> shift
	}
}

// TestPackedRoundTrip: UnpackInts is the inverse of PackInts for blocks of any width, and
// AppendPackedInts gives the same form and the sum of squares.
func TestPackedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawInts(t)
		packed := PackInts(v)
		if len(packed)%8 != 1 {
			t.Fatalf("%d bytes packed", len(packed))
		}
		if got, ok := UnpackInts(packed); !ok || !slices.Equal(got, v) {
			t.Fatalf("%d integers in %d bytes come back as %d", len(v), len(packed), len(got))
		}
		var want fixedpoint.Squares
		want.Add(v)
		appended, squares := AppendPackedInts([]byte{7, 7}, v)
		if !bytes.Equal(appended, append([]byte{7, 7}, packed...)) {
			t.Fatal("AppendPackedInts and PackInts differ")
		}
		if squares != want {
			t.Fatalf("the sum of squares is %v, want %v", squares, want)
		}
	})
}

// TestPackedAddTo: a view adds any part of the integers to samples, which stay as they were.
func TestPackedAddTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawInts(t)
		view, ok := ViewPackedInts(PackInts(v))
		if !ok || view.Len() != len(v) {
			t.Fatalf("a view of %d integers has %d", len(v), view.Len())
		}
		from := rapid.IntRange(0, len(v)).Draw(t, "from")
		n := rapid.IntRange(0, len(v)-from).Draw(t, "n")
		samples, got := slices.Repeat([]int64{3}, n+5), make([]int64, n)
		view.AddTo(got, samples, from)
		for i := range got {
			if got[i] != v[from+i]+3 {
				t.Fatalf("integer %d: %d, want %d + 3", from+i, got[i], v[from+i])
			}
		}
		if slices.Max(samples) != 3 || slices.Min(samples) != 3 {
			t.Fatal("the samples were changed")
		}
	})
}

// TestPackedSizes: a block has as many bytes an integer as its widest needs.
func TestPackedSizes(t *testing.T) {
	for _, c := range []struct {
		block []int64
		width int
	}{
		{block: []int64{0, 0, 0}, width: 0},
		{block: []int64{-1, 0}, width: 1},
		{block: []int64{127, -128}, width: 1},
		{block: []int64{128}, width: 2},
		{block: []int64{-129}, width: 2},
		{block: []int64{1<<23 - 1, -1 << 23}, width: 3},
		{block: []int64{1 << 23}, width: 4},
		{block: []int64{math.MaxInt64, math.MinInt64}, width: 8},
	} {
		t.Run(fmt.Sprint(c.block), func(t *testing.T) {
			unpadded := 8 + 1 + len(c.block)*c.width
			if got, want := len(PackInts(c.block)), (unpadded+6)/8*8+1; got != want {
				t.Errorf("packed into %d bytes, want %d", got, want)
			}
		})
	}
}

// TestIntBits compares fixedpoint.Bits with the range of two's complement, at its limits and
// at each place of a group and after it.
func TestIntBits(t *testing.T) {
	fits := func(x int64, width int) bool {
		return width == 64 || width > 0 && x >= -1<<(width-1) && x < 1<<(width-1) || x == 0
	}
	for shift := range 64 {
		for _, x := range []int64{1 << shift, 1<<shift - 1, -1 << shift, -1<<shift - 1, -1<<shift + 1} {
			for at := range 7 {
				v := make([]int64, 7)
				v[at] = x
				if n := fixedpoint.Bits(v); !fits(x, n) || n > 0 && fits(x, n-1) {
					t.Errorf("%d takes %d bits", x, n)
				}
			}
		}
	}
}

// TestPutInts: integers of every width are written in two's complement, and nothing is written
// past the 8 bytes after them.
func TestPutInts(t *testing.T) {
	for width := range 9 {
		t.Run(fmt.Sprintf("width=%d", width), func(t *testing.T) {
			for n := range 30 {
				v := make([]int64, n)
				if width > 0 {
					fillInts(v, uint64(n), 64-8*width)
				}
				b := bytes.Repeat([]byte{0xa5}, n*width+8+3)
				putInts(b[:n*width+8], v, width)
				if !bytes.Equal(b[n*width+8:], []byte{0xa5, 0xa5, 0xa5}) {
					t.Fatalf("%d integers: bytes after the buffer changed", n)
				}
				for i, want := range v {
					var got int64
					for j := width - 1; j >= 0; j-- {
						got = got<<8 | int64(b[i*width+j])
					}
					if got = got << (64 - 8*width) >> (64 - 8*width); got != want {
						t.Fatalf("integer %d of %d is %d, want %d", i, n, got, want)
					}
				}
			}
		})
	}
}

// FuzzUnpackInts: UnpackInts accepts nothing but what PackInts returns.
func FuzzUnpackInts(f *testing.F) {
	f.Add([]byte{})
	f.Add(PackInts(nil))
	f.Add(PackInts([]int64{1, -2, 300, 0}))
	f.Add(PackInts(make([]int64, packedBlock+1)))
	f.Add(append([]byte{0, 0, 0, 0, 0, 0, 0, 16}, 0)) // a count without integers
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := UnpackInts(b)
		if !ok {
			return
		}
		if want := PackInts(v); !bytes.Equal(b, want) {
			t.Fatalf("%x is accepted for %v, which is %x", b, v, want)
		}
	})
}
