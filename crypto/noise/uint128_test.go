package noise

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// word draws words with many equal bits often: those are the hard ones for division.
func word(t *rapid.T, name string) uint64 {
	w := rapid.Uint64().Draw(t, name)
	switch rapid.IntRange(0, 3).Draw(t, name+" kind") {
	case 0:
		return rapid.SampledFrom([]uint64{
			0, 1, 2, 1<<64 - 1, 1<<64 - 2, 1 << 63, 1<<63 - 1, 1 << 32, 1<<32 - 1,
		}).Draw(t, name+" extreme")
	case 1:
		return w >> rapid.IntRange(0, 63).Draw(t, name+" shift")
	}
	return w
}

func bigWords(words ...uint64) *big.Int {
	x := new(big.Int)
	for _, w := range words {
		x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(w))
	}
	return x
}

func TestDivideAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			d := uint128{word(t, "d.hi"), word(t, "d.lo")}
			if d == (uint128{}) {
				d.lo = 1
			}
			// n = q d + r with any one-word q and r < d reaches every case.
			q := new(big.Int).SetUint64(word(t, "q"))
			r := new(big.Int).Mod(bigWords(word(t, "r.hi"), word(t, "r.lo")), d.big())
			n := new(big.Int).Mul(q, d.big())
			n.Add(n, r)
			mask := new(big.Int).SetUint64(1<<64 - 1)
			part := func(shift uint) uint64 { x := new(big.Int).Rsh(n, shift); return x.And(x, mask).Uint64() }
			gotQ, gotR := divide(part(128), part(64), part(0), d)
			if gotQ != q.Uint64() || gotR.big().Cmp(r) != 0 {
				t.Fatalf("%v / %v = %d rest %v, want %v rest %v", n, d.big(), gotQ, gotR.big(), q, r)
			}
		}
	})
}

func TestSmallOperationsAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := uint128{word(t, "a.hi"), word(t, "a.lo")}
		b := uint128{word(t, "b.hi"), word(t, "b.lo")}
		if a.less(b) != (a.big().Cmp(b.big()) < 0) {
			t.Fatalf("less(%v, %v) is %v", a, b, a.less(b))
		}
		difference := new(big.Int).Sub(a.big(), b.big())
		if a.distance(b).big().Cmp(difference.Abs(difference)) != 0 {
			t.Fatalf("distance(%v, %v) = %v", a, b, a.distance(b))
		}
		a.hi &= 1<<32 - 1 // below 2^96
		n2, n1, n0 := a.square()
		if bigWords(n2, n1, n0).Cmp(new(big.Int).Mul(a.big(), a.big())) != 0 {
			t.Fatalf("square(%v) = %v", a, bigWords(n2, n1, n0))
		}
		factor := word(t, "factor") >> 32
		a.hi >>= 8
		if a.mul64(factor).big().Cmp(new(big.Int).Mul(a.big(), new(big.Int).SetUint64(factor))) != 0 {
			t.Fatalf("%v * %d = %v", a, factor, a.mul64(factor))
		}
	})
}
