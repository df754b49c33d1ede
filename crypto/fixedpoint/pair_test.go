package fixedpoint

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

// pairable draws coordinates, with the bounds among them.
func pairable(limit int64) *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-limit, limit), rapid.SampledFrom([]int64{-limit, -1, 0, 1, limit}))
}

// TestPairsAddUpLikeCoordinates sums parties' pairs in the field and holds what comes back to the
// sum of their coordinates, with bounds that reach the last magnitude there is room for.
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

// TestUnpairIsTotal: every integer that the field decodes to is one pair, whose first
// coordinate is in [-2^31, 2^31-1].
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

func TestPairRefuses(t *testing.T) {
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
				t.Errorf("%v: the refusal left %v", row.v, dst)
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

// TestPairedHeadroom: a plan of pairs has room for sums of magnitude 2^31 - 1 and no more.
func TestPairedHeadroom(t *testing.T) {
	h := Headroom{Parties: 1000, PerParty: MaxPaired / 1000, Dim: 10, Rounds: 3, Paired: true}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	h.PerParty++
	if err := h.Check(); !errors.Is(err, ErrHeadroom) || !strings.Contains(err.Error(), "2^31 - 1") || !strings.Contains(err.Error(), "taking 1 off") {
		t.Fatalf("got %v, want ErrHeadroom with the pairs' limit", err)
	}
	h.PerParty, h.NoiseVariance = 1, 1<<50 // 1000 * 2^50, its square root times a factor above 8
	if err := h.Check(); !errors.Is(err, ErrHeadroom) {
		t.Fatalf("the noise isn't counted: %v", err)
	}
}
