package commit

import (
	"math"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"

	"choir/crypto/internal/msm"
)

// edgy draws int64 values weighted to the ends and to powers of two.
func edgy() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1, 1 << 32,
			-1 << 32}),
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

func naiveSum(t fataler, points []msm.Point, values []int64) *edwards25519.Point {
	t.Helper()
	total := edwards25519.NewIdentityPoint()
	for i, v := range values {
		total.Add(total, new(edwards25519.Point).ScalarMult(integerScalar(t, v), edwards(t, &points[i])))
	}
	return total
}

// edwards converts a point of package msm.
func edwards(t fataler, p *msm.Point) *edwards25519.Point {
	t.Helper()
	q, err := msm.Sum([]msm.Term{{Point: p, Scalar: [32]byte{1}}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestSumOfProducts(t *testing.T) {
	g := testGenerators(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(edgy(), 0, 40).Draw(rt, "values")
		points := g.values[:len(values)]
		if got, err := sumOfProducts(points, values); err != nil ||
			got.Equal(naiveSum(rt, points, values)) != 1 {
			rt.Fatal("not the sum of products", err)
		}
	})
}

// TestSumsOfBlocks: sums of several blocks add up to the sum.
func TestSumsOfBlocks(t *testing.T) {
	g, want := testGenerators(t, 40), edwards25519.NewIdentityPoint()
	points, values := make([]msm.Point, blockSize+blockSize/2), make([]int64, blockSize+blockSize/2)
	for i := range points {
		points[i], values[i] = g.values[i%40], int64(1)<<(i%64)
	}
	for i := range 40 { // each generator with the sum of its values
		s := edwards25519.NewScalar()
		for j := i; j < len(values); j += 40 {
			s.Add(s, integerScalar(t, values[j]))
		}
		want.Add(want, new(edwards25519.Point).ScalarMult(s, edwards(t, &g.values[i])))
	}
	if got, err := sumOfProducts(points, values); err != nil || got.Equal(want) != 1 {
		t.Errorf("another sum, %v", err)
	}
}

// fataler is what *testing.T, *testing.B and *rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(args ...any)
}
