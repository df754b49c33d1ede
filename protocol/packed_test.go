package protocol

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"choir/crypto/fixedpoint"

	"pgregory.net/rapid"
)

// TestPackedRoundTrip: what was packed comes back, whatever the widths of its blocks; so
// does what earlier versions stored; and the two can be told apart.
func TestPackedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := make([]int64, rapid.SampledFrom([]int{0, 1, 2, 7, 8, 9, 100, packedBlock - 1, packedBlock, packedBlock + 1, 2*packedBlock + 3}).Draw(t, "length"))
		for at := 0; at < len(v); at += packedBlock { // each block has a magnitude of its own
			shift := rapid.IntRange(0, 64).Draw(t, "shift")
			seed := rapid.Uint64().Draw(t, "seed")
			for i := at; i < min(len(v), at+packedBlock); i++ {
				seed = seed*6364136223846793005 + 1442695040888963407
				v[i] = int64(seed) >> shift
			}
		}
		packed := PackInts(v)
		if len(packed)%8 != 1 {
			t.Fatalf("%d bytes packed", len(packed))
		}
		for _, b := range [][]byte{packed, AppendInts(nil, v)} {
			if got, ok := UnpackInts(b); !ok || !slices.Equal(got, v) {
				t.Fatalf("%d integers in %d bytes come back as %d", len(v), len(b), len(got))
			}
		}
	})
}

// TestPackedSizes: a block takes as many bytes an integer as its widest, and no more.
func TestPackedSizes(t *testing.T) {
	for _, c := range []struct {
		block []int64
		width int
	}{
		{[]int64{0, 0, 0}, 0}, {[]int64{-1, 0}, 1}, {[]int64{127, -128}, 1}, {[]int64{128}, 2}, {[]int64{-129}, 2},
		{[]int64{1<<23 - 1, -1 << 23}, 3}, {[]int64{1 << 23}, 4}, {[]int64{math.MaxInt64, math.MinInt64}, 8},
	} {
		raw := 8 + 1 + len(c.block)*c.width
		if got, want := len(PackInts(c.block)), (raw+6)/8*8+1; got != want {
			t.Errorf("%v is packed into %d bytes, not %d", c.block, got, want)
		}
	}
}

// TestIntBits against the smallest range that holds an integer, at each turn of two's
// complement and at each place of a group and behind it.
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

// TestPutInts: integers of every width, in every number up to some groups, come back, and
// nothing is written behind the room.
func TestPutInts(t *testing.T) {
	for width := range 9 {
		for n := range 30 {
			v, seed := make([]int64, n), uint64(n)
			for i := range v {
				seed = seed*6364136223846793005 + 1442695040888963407
				if width > 0 {
					v[i] = int64(seed) >> (64 - 8*width)
				}
			}
			b := bytes.Repeat([]byte{0xa5}, n*width+8+3)
			PutInts(b[:n*width+8], v, width)
			if !bytes.Equal(b[n*width+8:], []byte{0xa5, 0xa5, 0xa5}) {
				t.Fatalf("%d integers of %d bytes: written behind the room", n, width)
			}
			got := make([]int64, n)
			for i := range got {
				for j := width - 1; j >= 0; j-- {
					got[i] = got[i]<<8 | int64(b[i*width+j])
				}
				got[i] = got[i] << (64 - 8*width) >> (64 - 8*width)
			}
			if !slices.Equal(got, v) {
				t.Fatalf("width %d: %d comes back as %d", width, v, got)
			}
		}
	}
}

// FuzzUnpackInts: whatever is taken for packed is what PackInts writes for it.
func FuzzUnpackInts(f *testing.F) {
	f.Add([]byte{})
	f.Add(PackInts(nil))
	f.Add(PackInts([]int64{1, -2, 300, 0}))
	f.Add(PackInts(make([]int64, packedBlock+1)))
	f.Add(AppendInts(nil, []int64{5, -6}))
	f.Add(append([]byte{0, 0, 0, 0, 0, 0, 0, 16}, 0)) // a count that nothing follows
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := UnpackInts(b)
		if !ok {
			return
		}
		want := PackInts(v)
		if len(b)%8 == 0 {
			want = AppendInts(nil, v)
		}
		if !bytes.Equal(b, want) {
			t.Fatalf("%x is taken for %v, which is %x", b, v, want)
		}
	})
}
