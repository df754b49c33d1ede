package noise

import (
	"crypto/rand"
	"fmt"
	"testing"
)

func BenchmarkFill(b *testing.B) {
	for _, bitsOf := range []int{0, 10, 20, 46, 60} {
		b.Run(fmt.Sprintf("variance=2^%d", bitsOf), func(b *testing.B) {
			g, err := NewGaussian(1 << bitsOf)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]int64, 1000)
			for b.Loop() {
				if err := g.Fill(dst, rand.Reader); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/sample")
		})
	}
}
