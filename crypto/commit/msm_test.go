package commit

import (
	"math"
	"sync/atomic"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"
)

// edgy draws int64 values weighted to the ends and to powers of two.
func edgy() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1, 1 << 32, -1 << 32}),
		rapid.Custom(func(t *rapid.T) int64 { return 1 << rapid.IntRange(0, 63).Draw(t, "bit") }),
	)
}

// integerScalar is v modulo the group order, digit by digit: the dumb oracle.
func integerScalar(t fataler, v int64) *edwards25519.Scalar {
	t.Helper()
	m := magnitude(v)
	var b [32]byte
	for i := range 8 {
		b[i] = byte(m >> (8 * i))
	}
	s, err := edwards25519.NewScalar().SetCanonicalBytes(b[:])
	if err != nil {
		t.Fatal(err)
	}
	if v < 0 {
		s.Negate(s)
	}
	return s
}

func naiveSum(t fataler, points []edwards25519.Point, values []int64) *edwards25519.Point {
	t.Helper()
	total := edwards25519.NewIdentityPoint()
	for i, v := range values {
		total.Add(total, new(edwards25519.Point).ScalarMult(integerScalar(t, v), &points[i]))
	}
	return total
}

func TestSumOfProducts(t *testing.T) {
	g := testGenerators(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(edgy(), 0, 40).Draw(rt, "values")
		workers := rapid.IntRange(0, 3).Draw(rt, "workers")
		points := g.values[:len(values)]
		if sumOfProducts(points, values, workers).Equal(naiveSum(rt, points, values)) != 1 {
			rt.Fatal("not the sum of products")
		}
	})
}

// TestWindowsOfEverySize runs each window size, whatever windowSize prefers.
func TestWindowsOfEverySize(t *testing.T) {
	g := testGenerators(t, 6)
	values := []int64{math.MinInt64, math.MaxInt64, -1, 0, 1 << 62, -0x0123456789abcdef}
	want := naiveSum(t, g.values, values)
	for c := 1; c <= 16; c++ {
		got := edwards25519.NewIdentityPoint()
		for w := windows(64, c) - 1; w >= 0; w-- {
			for range c {
				got.Double(got)
			}
			got.Add(got, windowSum(g.values, values, w, c))
		}
		if got.Equal(want) != 1 {
			t.Errorf("windows of %d bits give another sum", c)
		}
	}
}

func TestDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := magnitude(edgy().Draw(t, "value"))
		c := rapid.IntRange(1, 16).Draw(t, "c")
		var sum uint64 // modulo 2^64, which determines m
		top := windows(64, c) - 1
		for w := top; w >= 0; w-- {
			d := digit(m, w, c)
			if d < -(1<<(c-1)) || d > 1<<(c-1) {
				t.Fatalf("digit %d is %d", w, d)
			}
			sum = sum<<c + uint64(d)
		}
		if sum != m {
			t.Fatalf("the digits give %d, want %d", sum, m)
		}
	})
}

func TestParallel(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 100} {
		var calls [50]atomic.Int32
		parallel(len(calls), workers, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d workers: f(%d) called %d times", workers, i, n)
			}
		}
	}
}

// fataler is what *testing.T, *testing.B and *rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(args ...any)
}
