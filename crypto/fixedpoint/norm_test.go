package fixedpoint

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNormSquaredAcrossRuns: at the magnitude up to which squares share a word, and
// beyond it, over lengths around a run.
func TestNormSquaredAcrossRuns(t *testing.T) {
	const most = 1<<small - 1
	for _, n := range []int{0, 1, run - 1, run, run + 1, 3*run + 5} {
		for _, x := range []int64{1, -1, most, -most, most + 1, -most - 1, math.MinInt64, math.MaxInt64} {
			v := slices.Repeat([]int64{x}, n)
			if n > 3 {
				v[2], v[n-1] = -7, 0 // and never all alike
			}
			w := normSquared(v)
			got := new(big.Int)
			for i := 2; i >= 0; i-- {
				got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(w[i]))
			}
			if want := bigNormSquared(v); got.Cmp(want) != 0 {
				t.Errorf("%d times %d: %v, want %v", n, x, got, want)
			}
		}
	}
}

// TestRoundClipIsRoundAndClipInt, inside and outside the bound, over lengths around a run
// and magnitudes on both ways to round.
func TestRoundClipIsRoundAndClipInt(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{3}))
	counts := map[bool]int{}
	for _, n := range []int{0, 1, run - 1, run, run + 1, 2*run + 7} {
		for _, exponent := range []int{0, 20, 52, 60} {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Ldexp(r.Float64()-0.5, exponent)
			}
			got, want := make([]int64, n), make([]int64, n)
			if err := (Grid{}).Round(want, x); err != nil {
				t.Fatal(err)
			}
			inside, _ := normSquared(want).ceilSqrt()
			for _, bound := range []uint64{inside, inside / 2} {
				v := slices.Clone(want)
				should := ClipInt(v, bound)
				clipped, err := (Grid{}).RoundClip(got, x, bound)
				if err != nil || clipped != should || !slices.Equal(got, v) {
					t.Fatalf("%d coordinates below 2^%d, bound %d: clipped %t, not %t, or another vector: %v",
						n, exponent, bound, clipped, should, err)
				}
				counts[clipped]++
			}
		}
	}
	if counts[true] < 10 || counts[false] < 10 {
		t.Errorf("clipped or not: %v", counts)
	}
	if _, err := (Grid{}).RoundClip(make([]int64, 1), []float64{math.NaN()}, 1); err == nil {
		t.Error("no number is rejected")
	}
}

// TestSquaresInPieces: it makes no difference where a vector is cut.
func TestSquaresInPieces(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{4}))
	for range 200 {
		v := make([]int64, r.IntN(4*run))
		shift := r.IntN(64)
		for i := range v {
			v[i] = int64(r.Uint64()) >> shift
		}
		var s Squares
		for rest := v; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			s.Add(rest[:n])
			rest = rest[n:]
		}
		if s.sum != normSquared(v) {
			t.Fatalf("%d coordinates in pieces: %v, in one %v", len(v), s.sum, normSquared(v))
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	x, v := make([]float64, 10000), make([]int64, 10000)
	for i := range x {
		x[i] = r.Float64() - 0.5
	}
	for _, f := range []struct {
		name string
		do   func() error
	}{
		{"round", func() error { return Grid{FracBits: 16}.Round(v, x) }},
		{"clip", func() error {
			if ClipInt(v, 1<<40) {
				return fmt.Errorf("clipped")
			}
			return nil
		}},
	} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				if err := f.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/coordinate")
		})
	}
}

// TestRoundSmallIsRoundToEven, at and around ties, integers and the largest products
// that it takes.
func TestRoundSmallIsRoundToEven(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{2}))
	x := []float64{0, math.Copysign(0, -1), 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, exact - 1, 1 - exact, exact - 1.5,
		1.5 - exact, exact/2 + 0.5, exact/2 + 1.5,
		math.SmallestNonzeroFloat64, math.Nextafter(0.5, 1), math.Nextafter(0.5, 0)}
	for range 5000 {
		x = append(x, math.Ldexp(r.Float64()-0.5, r.IntN(53)),
			math.Round(math.Ldexp(r.Float64()-0.5, r.IntN(50)))+0.5)
	}
	got := make([]int64, len(x))
	if !roundSmall(got, x, 1) {
		t.Fatal("a coordinate is not small")
	}
	for i, v := range x {
		if want := int64(math.RoundToEven(v)); got[i] != want {
			t.Errorf("%v rounds to %d, want %d", v, got[i], want)
		}
	}
	// It reports products that it cannot round, at every index: magnitudes from 2^51 on, and NaN.
	for _, large := range []float64{
		exact, math.Nextafter(exact, math.Inf(1)), -math.Nextafter(exact, math.Inf(1)), 3 << 51, -3 << 51,
		-9 << 51, 1 << 61, -1 << 61, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
	} {
		for at := range 7 {
			x := make([]float64, 7)
			if x[at] = large; roundSmall(got[:7], x, 1) {
				t.Errorf("%v at %d of 7 is accepted", large, at)
			}
		}
	}
	// One coordinate that is too large changes the method for its whole run.
	below := math.Nextafter(exact, 0)
	mixed := []float64{0.5, 1.5, exact, -exact - 1, 1 << 61, below, -below, exact - 0.5, 0.5 - exact}
	if err := (Grid{}).Round(got[:9], mixed); err != nil ||
		!slices.Equal(got[:9], []int64{0, 2, exact, -exact - 1, 1 << 61, exact, -exact, exact, -exact}) {
		t.Errorf("%v: %v", got[:9], err)
	}
}

// TestRoundNearIsRoundSmall compares results and squares. A coordinate beyond 2^27, or one that is not
// a number, is detected at every index.
func TestRoundNearIsRoundSmall(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{7}))
	const most = 1<<small - 1
	inside := []float64{
		0, math.Copysign(0, -1), 0.5, 1.5, -0.5, -2.5, most, -most - 1, most + 0.49, -most - 1.5,
		math.SmallestNonzeroFloat64, math.Nextafter(0.5, 1), math.Nextafter(0.5, 0),
	}
	outside := []float64{
		most + 0.5, most + 1, -most - 2, 1 << 31, -1 << 31, 1 << 32, exact, -exact, exact - 1, 1 << 52,
		-1 << 53, 3 << 51, -3 << 51, 1 << 62, math.MaxFloat64, -math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(),
	}
	for length := range 5*16 + 2 {
		for _, scale := range []float64{1, 1 << 16} {
			x := make([]float64, length)
			for i := range x {
				if x[i] = math.Ldexp(r.Float64()-0.5, r.IntN(27)); r.IntN(3) == 0 {
					x[i] = inside[r.IntN(len(inside))]
				}
				x[i] /= scale
			}
			checkNear(t, x, scale, true)
			if length > 0 {
				for _, bad := range outside {
					x[r.IntN(length)] = bad / scale
					checkNear(t, x, scale, false)
				}
			}
		}
	}
}

func checkNear(t testing.TB, x []float64, scale float64, near bool) {
	t.Helper()
	want := make([]int64, len(x))
	if near && !roundSmall(want, x, scale) {
		t.Fatal("roundSmall does not round it")
	}
	squares := normSquared(want)[0]
	buffer := slices.Repeat([]int64{99}, len(x)+5)
	got, ok := roundNear(buffer[:len(x)], x, scale)
	if ok != near || near && (got != squares || !slices.Equal(buffer[:len(x)], want)) {
		t.Fatalf("%v times %v is near: %t, squares %d, want %d, or other results", x, scale, ok, got, squares)
	}
	if !slices.Equal(buffer[len(x):], slices.Repeat([]int64{99}, 5)) {
		t.Fatal("coordinates after the last are changed")
	}
}
