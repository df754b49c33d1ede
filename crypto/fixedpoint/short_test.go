package fixedpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// packed computes what PackShort must return in another way.
func packed(v []int64, width int) (b []byte, squares uint64, fits bool) {
	limit := int64(1) << (8*width - 1)
	fits = true
	for _, x := range v {
		fits = fits && x >= -limit && x < limit
		_, lo := bits.Mul64(magnitude(x), magnitude(x))
		squares += lo
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], uint64(x))
		b = append(b, word[:width]...)
	}
	return b, squares, fits
}

func checkShort(t testing.TB, v []int64, width int) {
	t.Helper()
	const guard = 0x5a
	want, squares, fits := packed(v, width)
	buffer := bytes.Repeat([]byte{guard}, len(want)+8+16)
	got, ok := PackShort(buffer[:len(want)+8], v, width)
	if ok != fits {
		t.Fatalf("%d coordinates fit into %d bytes each: %t, want %t", len(v), width, ok, fits)
	}
	if ok && (got != squares || !bytes.Equal(buffer[:len(want)], want)) {
		t.Fatalf("%d coordinates of %d bytes: squares %d, want %d, or other bytes", len(v), width, got, squares)
	}
	if !bytes.Equal(buffer[len(want)+8:], bytes.Repeat([]byte{guard}, 16)) {
		t.Fatalf("%d coordinates of %d bytes: bytes after the buffer are changed", len(v), width)
	}
	if ok {
		checkAddShort(t, v, want, width)
	}
}

// checkAddShort adds packed coordinates to samples, with different numbers of bytes after the last
// coordinate.
func checkAddShort(t testing.TB, v []int64, packed []byte, width int) {
	t.Helper()
	const guard = 0x5a
	for _, after := range []int{0, 4, 5, 8} {
		words := append(bytes.Clone(packed), bytes.Repeat([]byte{0xff}, after)...)
		samples, dst := make([]int64, len(v)), make([]int64, len(v)+1)
		for i := range samples {
			samples[i], dst[i] = int64(i*i)-1<<40, guard
		}
		n := AddShort(dst[:len(v)], samples, words, width)
		if width > 1 && after >= 4 && len(v)-n >= 4 || n > len(v) {
			t.Fatalf("%d bytes: %d of %d coordinates are added", width, n, len(v))
		}
		for i := range v {
			want := int64(guard)
			if i < n {
				want = samples[i] + v[i]
			}
			if dst[i] != want {
				t.Fatalf("%d bytes, coordinate %d: %d, want %d", width, i, dst[i], want)
			}
		}
		if again := AddShort(samples, samples, words, width); again != n || !slices.Equal(samples[:n], dst[:n]) {
			t.Fatalf("%d bytes: in place %d coordinates are added, want %d, or others", width, again, n)
		}
	}
}

// TestPackShort packs all magnitudes that a width represents, often the extreme ones.
func TestPackShort(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{5}))
	for _, width := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			most := int64(1)<<(8*width-1) - 1
			ends := []int64{most, -most - 1, 0, -1, 1, most - 1, -most}
			for length := range 40 {
				v := make([]int64, length)
				for i := range v {
					if v[i] = r.Int64N(2*most+2) - most - 1; r.IntN(3) == 0 {
						v[i] = ends[r.IntN(len(ends))]
					}
				}
				checkShort(t, v, width)
			}
			for index := range 9 { // one wide coordinate at each index
				for _, wide := range []int64{
					most + 1, -most - 2, 1 << (8 * width), 1 << 31, 1 << 32, -1 << 32, 1<<32 + 1,
					math.MaxInt64, math.MinInt64,
				} {
					v := make([]int64, 9)
					v[index] = wide
					checkShort(t, v, width)
				}
			}
		})
	}
}

func TestPackShortRejects(t *testing.T) {
	for _, c := range []struct {
		name           string
		size, n, width int
	}{
		{"width -1", 100, 2, -1},
		{"width 0", 100, 2, 0},
		{"width 4", 100, 2, 4},
		{"width 8", 100, 2, 8},
		{"no bytes after the last coordinate", 2*40 + 7, 40, 2},
		{"a sum of squares that may overflow", 3*(maxShort+1) + 8, maxShort + 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := PackShort(make([]byte, c.size), make([]int64, c.n), c.width); ok {
				t.Error("accepted")
			}
		})
	}
}
