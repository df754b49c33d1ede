package noise

import (
	"crypto/rand"
	"fmt"
	"io"
	"testing"
)

type filler interface {
	Fill(dst []int64, r io.Reader) error
}

func benchmarkFill(b *testing.B, g filler, n int) {
	dst := make([]int64, n)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Fill(dst, rand.Reader); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/sample")
}

// benchSigmas are exponents of 2.
var benchSigmas = []int{0, 3, 10, 20, 30}

func BenchmarkFill(b *testing.B) {
	for _, log := range benchSigmas {
		b.Run(fmt.Sprintf("sigma=2^%d", log), func(b *testing.B) {
			benchmarkFill(b, mustNew(b, integer(1<<(2*log))), 1<<16)
		})
	}
	b.Run("sigma=0.3", func(b *testing.B) { benchmarkFill(b, mustNew(b, variance{9, 100}), 1<<16) })
}

func BenchmarkReferenceFill(b *testing.B) {
	for _, log := range benchSigmas {
		b.Run(fmt.Sprintf("sigma=2^%d", log), func(b *testing.B) {
			benchmarkFill(b, mustNewReference(b, integer(1<<(2*log))), 1<<10)
		})
	}
}

func BenchmarkNewGaussian(b *testing.B) {
	for _, log := range benchSigmas {
		b.Run(fmt.Sprintf("sigma=2^%d", log), func(b *testing.B) {
			for b.Loop() {
				mustNew(b, integer(1<<(2*log)))
			}
		})
	}
}
