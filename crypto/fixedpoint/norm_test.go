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
