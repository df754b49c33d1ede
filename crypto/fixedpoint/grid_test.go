package fixedpoint

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundKnownValues(t *testing.T) {
	for _, c := range []struct {
		fracBits uint8
		x        float64
		want     int64
	}{
		{0, 0.5, 0}, {0, 1.5, 2}, {0, 2.5, 2}, {0, -0.5, 0}, {0, -1.5, -2}, {0, -2.5, -2},
		{0, math.Nextafter(0.5, 1), 1}, {0, math.Nextafter(0.5, 0), 0},
		{1, 0.25, 0}, {1, 0.75, 2}, {1, -0.75, -2}, {20, 1, 1 << 20}, {52, 1, 1 << 52},
		{52, -1.0 / 3, -1501199875790165},
		{0, math.Copysign(0, -1), 0}, {52, math.SmallestNonzeroFloat64, 0},
		{0, math.Nextafter(1<<62, 0), 1<<62 - 512},
		{52, math.Nextafter(1024, 0), 1<<62 - 512}, {52, -math.Nextafter(1024, 0), -1<<62 + 512},
	} {
		got := []int64{7}
		if err := (Grid{c.fracBits}).Round(got, []float64{c.x}); err != nil || got[0] != c.want {
			t.Errorf("Round(%v) at %d bits = %d, %v; want %d", c.x, c.fracBits, got[0], err, c.want)
		}
	}
}

// TestRoundAgainstRationals rounds exactly, with ties to even, by rational arithmetic.
func TestRoundAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{uint8(rapid.IntRange(0, MaxFracBits).Draw(t, "bits"))}
		x := rapid.Float64Range(-1000, 1000).Draw(t, "x")
		if rapid.Bool().Draw(t, "tie") {
			x = (math.Trunc(x) + 0.5) * math.Ldexp(1, -int(g.FracBits))
		}
		got := make([]int64, 1)
		if err := g.Round(got, []float64{x}); err != nil {
			t.Fatal(err)
		}
		scaled := new(big.Rat).SetFloat64(x)
		scaled.Mul(scaled, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(g.FracBits))))
		off := new(big.Rat).Sub(scaled, new(big.Rat).SetInt64(got[0]))
		half := big.NewRat(1, 2)
		switch off.Abs(off).Cmp(half) {
		case 1:
			t.Fatalf("%v rounds to %d units, off by more than a half", x, got[0])
		case 0:
			if got[0]%2 != 0 {
				t.Fatalf("the tie %v rounds to the odd %d", x, got[0])
			}
		}
	})
}

func TestRoundRejections(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name     string
		fracBits uint8
		x        []float64
		cause    error
		names    string
	}{
		{"NaN", 10, []float64{1, nan, inf}, ErrNotFinite, "coordinate 1"},
		{"+Inf", 10, []float64{inf, nan}, ErrNotFinite, "coordinate 0"},
		{"-Inf", 0, []float64{0, 0, -inf}, ErrNotFinite, "coordinate 2"},
		{"at the limit", 0, []float64{0, 1 << 62}, ErrRange, "coordinate 1"},
		{"at the negative limit", 52, []float64{-1024}, ErrRange, "coordinate 0"},
		{"overflowing to infinity", 52, []float64{math.MaxFloat64}, ErrRange, "coordinate 0"},
		{"too fine a grid", 53, []float64{1}, ErrGrid, "53"},
		{"NaN after large values", 0, append(slices.Repeat([]float64{1 << 60}, run+3), nan), ErrNotFinite,
			"coordinate 515"},
		{"infinite among small values", 0, append(slices.Repeat([]float64{1.5}, 2*run+1), -inf, 0), ErrNotFinite,
			"coordinate 1025"},
		{"longer than the result", 0, make([]float64, 9), ErrLength, "9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := slices.Repeat([]int64{7}, len(c.x))
			if c.cause == ErrLength {
				dst = dst[1:]
			}
			err := Grid{c.fracBits}.Round(dst, c.x)
			if !errors.Is(err, c.cause) || !strings.Contains(err.Error(), c.names) {
				t.Fatalf("got %v, want %v that names %q", err, c.cause, c.names)
			}
			want := int64(0) // after a rejected coordinate; 7 if the arguments are invalid
			if c.cause == ErrGrid || c.cause == ErrLength {
				want = 7
			}
			if slices.ContainsFunc(dst, func(x int64) bool { return x != want }) {
				t.Fatalf("dst is %d, not %d everywhere", dst, want)
			}
		})
	}
}

func TestFloatUndoesRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{uint8(rapid.IntRange(0, MaxFracBits).Draw(t, "bits"))}
		v := rapid.SliceOfN(rapid.Int64Range(-1<<53, 1<<53), 0, 10).Draw(t, "v")
		x, back := make([]float64, len(v)), make([]int64, len(v))
		g.Float(x, v)
		if err := g.Round(back, x); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back, v) {
			t.Fatalf("%v came back as %v by way of %v", v, back, x)
		}
	})
}

func TestIntBoundIsTheExactFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{uint8(rapid.IntRange(0, MaxFracBits).Draw(t, "bits"))}
		c := rapid.Float64Range(0, 1023).Draw(t, "c")
		got, err := g.IntBound(c)
		if err != nil {
			t.Fatal(err)
		}
		exact := new(big.Rat).SetFloat64(c)
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(g.FracBits))))
		want := new(big.Int).Div(exact.Num(), exact.Denom())
		if new(big.Int).SetUint64(got).Cmp(want) != 0 {
			t.Fatalf("IntBound(%v) at %d bits = %d, want %v", c, g.FracBits, got, want)
		}
	})
}

func TestIntBoundRejections(t *testing.T) {
	for _, c := range []struct {
		fracBits uint8
		c        float64
		cause    error
	}{
		{0, math.NaN(), ErrNotFinite}, {0, math.Inf(1), ErrNotFinite}, {0, math.Inf(-1), ErrNotFinite},
		{0, -1, ErrRange}, {0, 1 << 62, ErrRange}, {52, 1024, ErrRange}, {52, math.MaxFloat64, ErrRange},
		{53, 1, ErrGrid},
	} {
		if got, err := (Grid{c.fracBits}).IntBound(c.c); !errors.Is(err, c.cause) || got != 0 {
			t.Errorf("IntBound(%v) at %d bits = %d, %v; want %v", c.c, c.fracBits, got, err, c.cause)
		}
	}
}

func TestDifferentLengthsPanicWithoutAnError(t *testing.T) {
	for name, f := range map[string]func(){
		"Float":     func() { Grid{}.Float(make([]float64, 1), make([]int64, 2)) },
		"FromField": func() { FromField(make([]int64, 2), make([]fieldElement, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
