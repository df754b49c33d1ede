package fixedpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

// pairable draws coordinates, with the bounds among them.
func pairable(limit int64) *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-limit, limit), rapid.SampledFrom([]int64{-limit, -1, 0, 1, limit}))
}

// TestPairsAddUpLikeCoordinates adds pairs in the field and compares the result with the sum of the
// coordinates, up to the largest magnitude that fits.
func TestPairsAddUpLikeCoordinates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 6).Draw(t, "parties"), rapid.IntRange(1, 9).Draw(t, "dim")
		want, total := make([]int64, d), make(field.Vector, Paired(d))
		for range n {
			v := rapid.SliceOfN(pairable(MaxPaired/int64(n)), d, d).Draw(t, "coordinates")
			pairs, x := make([]int64, Paired(d)), make(field.Vector, Paired(d))
			if err := Pair(pairs, v); err != nil {
				t.Fatal(err)
			}
			for i, s := range pairs {
				if w := pairOf(v, i); w.Cmp(big.NewInt(s)) != 0 {
					t.Fatalf("pair %d of %v is %d, want %v", i, v, s, w)
				}
			}
			if err := ToField(x, pairs); err != nil {
				t.Fatal(err)
			}
			total.Add(x)
			for j := range v {
				want[j] += v[j]
			}
		}
		pairs, got := make([]int64, len(total)), make([]int64, d)
		FromField(pairs, total)
		if err := Unpair(got, pairs); err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if got[j] != want[j] {
				t.Fatalf("coordinate %d of the sum is %d, want %d", j, got[j], want[j])
			}
		}
	})
}

// pairOf is v[2i] + 2^32 v[2i+1].
func pairOf(v []int64, i int) *big.Int {
	w := new(big.Int)
	if 2*i+1 < len(v) {
		w.Lsh(big.NewInt(v[2*i+1]), 32)
	}
	return w.Add(w, big.NewInt(v[2*i]))
}

// TestUnpairIsTotal: every integer that FromField returns is the pair of unique coordinates, the first
// in [-2^31, 2^31-1].
func TestUnpairIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := pairable(field.MaxSigned).Draw(t, "pair")
		var v [2]int64
		if err := Unpair(v[:], []int64{s}); err != nil {
			t.Fatal(err)
		}
		if pairOf(v[:], 0).Cmp(big.NewInt(s)) != 0 || v[0] < -1<<31 || v[0] > MaxPaired {
			t.Fatalf("%d is the pair %d", s, v)
		}
	})
}

func TestPairRejects(t *testing.T) {
	for _, row := range []struct {
		v    []int64
		want string
	}{
		{[]int64{1 << 31, 0}, "coordinate 0"},
		{[]int64{0, -1 << 31}, "coordinate 1"},
		{[]int64{0, 0, 1 << 31}, "coordinate 2"},
		{[]int64{0, 0, 0, -1 << 63}, "coordinate 3"},
		{[]int64{0, 1<<63 - 1}, "coordinate 1"},
	} {
		dst := []int64{7, 7}[:Paired(len(row.v))]
		err := Pair(dst, row.v)
		if !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: %v", row.v, err)
		}
		for _, s := range dst {
			if s != 0 {
				t.Errorf("%v: the rejection left %v", row.v, dst)
			}
		}
	}
	if err := Pair(make([]int64, 1), make([]int64, 3)); !errors.Is(err, ErrLength) {
		t.Errorf("three coordinates in one pair: %v", err)
	}
	if err := Unpair(make([]int64, 3), make([]int64, 1)); !errors.Is(err, ErrLength) {
		t.Errorf("three coordinates of one pair: %v", err)
	}
	for _, s := range []int64{1 << 32, -1 << 32, 1 << 31, field.MaxSigned} {
		if err := Unpair(make([]int64, 3), []int64{0, s}); !errors.Is(err, ErrPadding) {
			t.Errorf("%d behind the last coordinate: %v", s, err)
		}
	}
}

// TestPairedHeadroom: with pairs, sums must not exceed magnitude 2^31 - 1.
func TestPairedHeadroom(t *testing.T) {
	h := Headroom{Parties: 1000, PerParty: MaxPaired / 1000, Dim: 10, Rounds: 3, Paired: true}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	h.PerParty++
	if err := h.Check(); !errors.Is(err, ErrHeadroom) || !strings.Contains(err.Error(), "2^31 - 1") ||
		!strings.Contains(err.Error(), "taking 1 off") {
		t.Fatalf("got %v, want ErrHeadroom with the pairs' limit", err)
	}
	h.PerParty, h.NoiseVariance = 1, 1<<50 // 1000 * 2^50, its square root times a factor above 8
	if err := h.Check(); !errors.Is(err, ErrHeadroom) {
		t.Fatalf("the noise is not counted: %v", err)
	}
}

// TestPairToField compares PairToField with Pair followed by ToField, errors included, at many
// lengths.
func TestPairToField(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{6}))
	ends := []int64{0, 1, -1, 1 << 30, -1 << 30, 1<<30 - 1, -1<<30 - 1, MaxPaired, -MaxPaired}
	out := []int64{MaxPaired + 1, -MaxPaired - 1, 1 << 32, -1 << 32, math.MaxInt64, math.MinInt64}
	rejected := 0
	for length := range 83 {
		for turn := range 40 {
			v := make([]int64, length)
			for i := range v {
				if v[i] = r.Int64N(2*MaxPaired+1) - MaxPaired; turn%4 == 2 && r.IntN(2) == 0 {
					v[i] = ends[r.IntN(len(ends))]
				}
			}
			if turn%4 == 3 && length > 0 {
				v[r.IntN(length)] = out[r.IntN(len(out))]
				rejected++
			}
			checkPairToField(t, v)
		}
	}
	if rejected < 100 {
		t.Errorf("%d rejections", rejected)
	}
	if err := PairToField(make(field.Vector, 2), make([]int64, 5)); !errors.Is(err, ErrLength) {
		t.Errorf("five coordinates in two pairs: %v", err)
	}
}

func checkPairToField(t testing.TB, v []int64) {
	t.Helper()
	ints, want := make([]int64, Paired(len(v))), make(field.Vector, Paired(len(v)))
	wantErr := Pair(ints, v)
	if wantErr == nil {
		wantErr = ToField(want, ints)
	}
	const guard = 99
	buffer := slices.Repeat(field.Vector{guard}, len(want)+5)
	err := PairToField(buffer[:len(want)], v)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("%v: %v, want %v", v, err, wantErr)
	}
	if !slices.Equal(buffer[:len(want)], want) {
		t.Fatalf("%v: %v, want %v", v, buffer[:len(want)], want)
	}
	if !slices.Equal(buffer[len(want):], slices.Repeat(field.Vector{guard}, 5)) {
		t.Fatalf("%v: elements after the last pair are changed", v)
	}
}

// FuzzPair pairs arbitrary coordinates of two to four bytes, most of them in range, and of eight.
func FuzzPair(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff, 0x7f, 0, 0x80}, 50))
	f.Add(bytes.Repeat([]byte{0xff, 0xff, 0x7f, 0, 0, 0x80}, 70))
	f.Add(slices.Concat(make([]byte, 160), []byte{0, 0, 0, 0x80, 0xff}, make([]byte, 100)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		for _, width := range []int{2, 3, 4, 8} {
			var v []int64
			for rest := b; len(rest) >= width; rest = rest[width:] {
				var word [8]byte
				copy(word[:], rest[:width])
				v = append(v, int64(binary.LittleEndian.Uint64(word[:]))<<(64-8*width)>>(64-8*width))
			}
			checkPairToField(t, v)
		}
	})
}
