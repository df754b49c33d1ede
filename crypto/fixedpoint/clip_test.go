package fixedpoint

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bigNormSquared is the oracle: the sum of squares without any limit.
func bigNormSquared(v []int64) *big.Int {
	sum := new(big.Int)
	for _, x := range v {
		b := big.NewInt(x)
		sum.Add(sum, b.Mul(b, b))
	}
	return sum
}

func bigSquare(x uint64) *big.Int {
	b := new(big.Int).SetUint64(x)
	return b.Mul(b, b)
}

// coordinates draws integers of every magnitude, the extreme ones often.
func coordinates() *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		if rapid.IntRange(0, 3).Draw(t, "extreme") == 0 {
			return rapid.SampledFrom([]int64{
				0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 62, -1 << 62, 1<<32 - 1,
			}).Draw(t, "x")
		}
		return rapid.Int64().Draw(t, "x") >> rapid.IntRange(0, 62).Draw(t, "shift")
	})
}

// bounds draws bounds of every magnitude, and those next to the norm of v often.
func bounds(t *rapid.T, v []int64) uint64 {
	near := new(big.Int).Sqrt(bigNormSquared(v))
	if near.IsUint64() && near.Sign() > 0 && rapid.Bool().Draw(t, "near") {
		return near.Uint64() - 1 + rapid.Uint64Range(0, 2).Draw(t, "offset")
	}
	return rapid.Uint64().Draw(t, "bound") >> rapid.IntRange(0, 63).Draw(t, "bound shift")
}

func TestNormSquaredAtMostAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(coordinates(), 0, 40).Draw(t, "v")
		bound := bounds(t, v)
		want := bigNormSquared(v).Cmp(bigSquare(bound)) <= 0
		if got := NormSquaredAtMost(v, bound); got != want {
			t.Fatalf("NormSquaredAtMost is %v, want %v", got, want)
		}
	})
}

func TestClipIntBoundIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(coordinates(), 0, 40).Draw(t, "v")
		bound := bounds(t, v)
		checkClipInt(t, v, bound)
	})
}

// TestClipIntOnLongVectors has norms of 2^64 and more, where the root is shifted.
func TestClipIntOnLongVectors(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	for _, bound := range []uint64{0, 1, 1000, 1 << 40, 1 << 62, math.MaxUint64} {
		v := make([]int64, 3000)
		for i := range v {
			v[i] = int64(r.Uint64())
		}
		v[0] = math.MinInt64
		checkClipInt(t, v, bound)
		checkClipInt(t, slices.Repeat([]int64{math.MinInt64}, 3000), bound)
	}
}

// checkClipInt clips a copy of v and compares with exact arithmetic: the bound, the
// direction, and a difference below one unit a coordinate from the ideal v * bound/norm.
func checkClipInt(t interface {
	Helper()
	Fatalf(string, ...any)
}, v []int64, bound uint64) {
	t.Helper()
	got := slices.Clone(v)
	clipped := ClipInt(got, bound)
	norm := bigNormSquared(v)
	if outside := norm.Cmp(bigSquare(bound)) > 0; clipped != outside {
		t.Fatalf("clipped is %v for a vector that is outside: %v", clipped, outside)
	}
	if !clipped {
		if !slices.Equal(got, v) {
			t.Fatalf("a vector inside was changed")
		}
		return
	}
	if bigNormSquared(got).Cmp(bigSquare(bound)) > 0 {
		t.Fatalf("norm^2 is %v after clipping to %d", bigNormSquared(got), bound)
	}
	for i, x := range v {
		if !nearIdeal(x, got[i], bound, norm) {
			t.Fatalf("coordinate %d: %d became %d", i, x, got[i])
		}
	}
	if again := slices.Clone(got); ClipInt(again, bound) || !slices.Equal(again, got) {
		t.Fatalf("clipping twice differs from clipping once")
	}
}

// nearIdeal reports whether y is x * bound/norm, or less than two units closer to zero: one unit for
// the floor, and one for a norm rounded up to 64 bits.
func nearIdeal(x, y int64, bound uint64, normSquared *big.Int) bool {
	if y != 0 && (x < 0) != (y < 0) {
		return false
	}
	squared := func(m *big.Int) *big.Int { m.Mul(m, m); return m.Mul(m, normSquared) }
	ideal := bigSquare(magnitude(x))
	ideal.Mul(ideal, bigSquare(bound))
	low, high := new(big.Int).SetUint64(magnitude(y)), new(big.Int).SetUint64(magnitude(y))
	high.Add(high, big.NewInt(2))
	return squared(low).Cmp(ideal) <= 0 && ideal.Cmp(squared(high)) < 0
}

func TestClipIntKnownValues(t *testing.T) {
	for _, c := range []struct {
		v     []int64
		bound uint64
		want  []int64
	}{
		{[]int64{3, -4}, 5, []int64{3, -4}},
		{[]int64{30, -40}, 5, []int64{3, -4}},
		{[]int64{3, -4}, 4, []int64{2, -3}},
		{[]int64{1, 1}, 1, []int64{0, 0}},
		{[]int64{-7}, 0, []int64{0}},
		{[]int64{math.MinInt64}, 1 << 62, []int64{-1 << 62}},
		{nil, 0, nil},
	} {
		got := slices.Clone(c.v)
		ClipInt(got, c.bound)
		if !slices.Equal(got, c.want) {
			t.Errorf("ClipInt(%v, %d) = %v, want %v", c.v, c.bound, got, c.want)
		}
	}
}

// TestClipRealNorm checks the norm in 200-bit arithmetic. Each of the d squares, d
// additions and few divisions is off by 2^-53 relatively at most, so 2^-53 (d + 8)
// covers the norm; coordinates that become subnormal may lose 2^-1075 each besides.
func TestClipRealNorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(-1060, 1010).Draw(t, "scale")
		v := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 1, 30).Draw(t, "v")
		for i := range v {
			v[i] = math.Ldexp(v[i], scale)
		}
		c := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "c"), rapid.IntRange(-1000, 1000).Draw(t, "c scale"))
		got := slices.Clone(v)
		clipped := ClipReal(got, c)
		tolerance := math.Ldexp(float64(len(v)+8), -53)
		before, after := bigNorm(v), bigNorm(got)
		if !clipped && (!slices.Equal(got, v) || ratio(before, c) > 1+tolerance) {
			t.Fatalf("left alone at %v times the bound", ratio(before, c))
		}
		if clipped && (ratio(before, c) < 1-tolerance || ratio(after, c) > 1+tolerance ||
			ratio(after, c) < 1-tolerance) {
			t.Fatalf("clipped from %v to %v times the bound", ratio(before, c), ratio(after, c))
		}
	})
}

func bigNorm(v []float64) *big.Float {
	sum := new(big.Float).SetPrec(200)
	for _, x := range v {
		b := new(big.Float).SetPrec(200).SetFloat64(x)
		sum.Add(sum, b.Mul(b, b))
	}
	return sum.Sqrt(sum)
}

func ratio(norm *big.Float, c float64) float64 {
	f, _ := new(big.Float).Quo(norm, new(big.Float).SetFloat64(c)).Float64()
	return f
}

func TestClipRealEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name    string
		v       []float64
		c       float64
		want    []float64
		clipped bool
	}{
		{"inside", []float64{3, -4}, 5, []float64{3, -4}, false},
		{"outside", []float64{30, -40}, 5, []float64{3, -4}, true},
		{"largest numbers", []float64{math.MaxFloat64, -math.MaxFloat64}, math.Sqrt2, []float64{1, -1}, true},
		{"smallest numbers stay", []float64{math.SmallestNonzeroFloat64}, 1, []float64{math.SmallestNonzeroFloat64},
			false},
		{"zero vector", []float64{0, 0}, 0, []float64{0, 0}, false},
		{"zero bound", []float64{1, -1}, 0, []float64{0, 0}, true},
		{"negative bound", []float64{1}, -1, []float64{0}, true},
		{"NaN bound", []float64{1}, nan, []float64{0}, true},
		{"infinite bound", []float64{math.MaxFloat64, math.MaxFloat64}, inf,
			[]float64{math.MaxFloat64, math.MaxFloat64}, false},
		{"infinity is left to Round", []float64{inf, 9}, 1, []float64{inf, 9}, false},
		{"empty", nil, 1, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := slices.Clone(c.v)
			clipped := ClipReal(got, c.c)
			near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 4e-16*math.Abs(b) }
			if clipped != c.clipped || !slices.EqualFunc(got, c.want, near) {
				t.Errorf("got %v, %v; want %v, %v", got, clipped, c.want, c.clipped)
			}
		})
	}
	v := []float64{nan, 9}
	if ClipReal(v, 1) || !math.IsNaN(v[0]) || v[1] != 9 {
		t.Errorf("a vector with NaN became %v", v)
	}
}

func BenchmarkClipInt(b *testing.B) {
	r := rand.New(rand.NewChaCha8([32]byte{}))
	original := make([]int64, 10000)
	for i := range original {
		original[i] = r.Int64() >> 20
	}
	v := make([]int64, len(original))
	for b.Loop() {
		copy(v, original)
		ClipInt(v, 1<<30)
	}
}
