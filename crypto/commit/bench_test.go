package commit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

var big = flag.Bool("big", false, "benchmark at dimension 100,000 too")

func benchmarkDimensions() []int {
	d := []int{100, 1_000, 10_000}
	if *big {
		d = append(d, 100_000)
	}
	return d
}

func BenchmarkGenerators(b *testing.B) {
	for b.Loop() {
		testGenerators(b, 1000)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*1000), "us/generator")
}

func BenchmarkCommit(b *testing.B) {
	for _, d := range benchmarkDimensions() {
		g, rng := testGenerators(b, d), rand.New(testRand(9))
		for _, width := range []int{32, 63} {
			values := make([]int64, d)
			for i := range values {
				values[i] = int64(rng.Uint64()) >> (63 - width)
			}
			blinding := testScalar(b, testRand(10))
			b.Run(fmt.Sprintf("d=%d/bits=%d", d, width), func(b *testing.B) {
				for b.Loop() {
					if _, err := g.Commit(values, blinding); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*d), "us/coordinate")
			})
		}
	}
}

// BenchmarkLibrary is the library's multi-scalar multiplication, for comparison.
func BenchmarkLibrary(b *testing.B) {
	for _, d := range []int{100, 1_000, 10_000} {
		g, rng := testGenerators(b, d), rand.New(testRand(9))
		scalars := make([]*edwards25519.Scalar, d)
		points := make([]*edwards25519.Point, d)
		for i := range scalars {
			scalars[i], points[i] = integerScalar(b, int64(rng.Uint64())), edwards(b, &g.values[i])
		}
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			for b.Loop() {
				new(edwards25519.Point).VarTimeMultiScalarMult(scalars, points)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*d), "us/coordinate")
		})
	}
}
