package party

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"choir/crypto/xof"
	"choir/protocol"
)

// benchUpdate returns an update of width bytes a coordinate.
func benchUpdate(seed byte, dim, width int) []int64 {
	r, u := rand.New(rand.NewChaCha8([32]byte{seed})), make([]int64, dim)
	for i := range u {
		u[i] = int64(r.Uint64()) >> (65 - 8*width)
	}
	return u
}

// several is the number of parties whose vectors are used in turn, so that none is still in the
// first-level cache.
const several = 24

// BenchmarkPack measures packing an update.
func BenchmarkPack(b *testing.B) {
	for _, dim := range []int{10_000, 1_000_000} {
		for _, width := range []int{1, 2, 3, 5} {
			b.Run(fmt.Sprintf("%d/%d", dim, width), func(b *testing.B) {
				updates := make([][]int64, max(2, several*10_000/dim))
				for i := range updates {
					updates[i] = benchUpdate(byte(i), dim, width)
				}
				for i := 0; b.Loop(); i++ {
					if _, within := packOutbox(updates[i%len(updates)], math.MaxUint64); !within {
						b.Fatal("beyond any bound")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(dim), "ns/coordinate")
			})
		}
	}
}

// BenchmarkChunk measures making a chunk with one mask whose noise is drawn already.
func BenchmarkChunk(b *testing.B) {
	for _, c := range []struct {
		dim, width int
		paired     bool
	}{{10_000, 2, true}, {10_000, 3, true}, {65_536, 2, false}, {65_536, 3, false}, {65_536, 5, false}} {
		b.Run(fmt.Sprintf("%d/%d/%t", c.dim, c.width, c.paired), func(b *testing.B) {
			r := newRig(b, c.dim, func(p *protocol.Plan, _ *Config) {
				p.Paired = c.paired
				p.PerParty = 1 << 20
				p.Variance = 1 << 20
			})
			mask, err := xof.New(xof.Key{1})
			if err != nil {
				b.Fatal(err)
			}
			sealer, err := r.p.bound.Sealer(r.p.secret(0), r.p.context(0))
			if err != nil {
				b.Fatal(err)
			}
			var out []*sending
			for i := range max(2, several*10_000/c.dim) {
				outbox, _ := packOutbox(benchUpdate(byte(i), c.dim, c.width), math.MaxUint64)
				update, ok := protocol.ViewPackedInts(outbox[outboxHeader:])
				if !ok {
					b.Fatal("the update is not packed")
				}
				out = append(out, &sending{
					update: update,
					noise:  &drawn{whole: benchUpdate(byte(i), c.dim, 2), ready: c.dim},
					masks:  []*xof.Stream{mask},
					sealer: sealer,
				})
			}
			var buf scratch
			for i := 0; b.Loop(); i++ {
				if _, _, err := r.p.makeChunk(out[i%len(out)], 0, &buf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.dim), "ns/coordinate")
		})
	}
}
