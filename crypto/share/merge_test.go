package share

import (
	"runtime"
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/crypto/xof"
)

// TestMergeDoesNotDependOnCores: with any number of cores, over chunks or over streams, the sum is
// that of the streams one by one, added to the previous contents.
func TestMergeDoesNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var adder Adder // one for all cases: the accumulators that it keeps have other lengths
	for _, c := range []struct{ elements, streams int }{
		{0, 3}, {5, 0}, {7, 3}, {10_000, 40}, {xof.ChunkElements, 9},
		{2*xof.ChunkElements + 3, 5}, {9_000, 50}, {11_000, 50},
	} {
		seeds := streams(t, c.streams, uint64(77+c.elements))
		before := slices.Repeat(field.Vector{12345}, c.elements)
		want := slices.Clone(before)
		for _, s := range seeds {
			for i := range uint64(xof.Chunks(c.elements)) {
				s.AddTo(xof.Chunk(want, i), i)
			}
		}
		for _, cores := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(cores)
			got := slices.Clone(before)
			if new(Adder).Add(got, seeds...); !got.Equal(want) {
				t.Errorf("%v on %d cores: the sum differs", c, cores)
			}
			again := slices.Clone(before)
			if adder.Add(again, seeds...); !again.Equal(want) {
				t.Errorf("%v on %d cores: an adder's sum differs", c, cores)
			}
			if SubSeeds(got, seeds...); !got.Equal(before) {
				t.Errorf("%v on %d cores: subtracting does not undo adding", c, cores)
			}
		}
	}
}

// TestGroups: private accumulators are used only if they keep a core busy.
func TestGroups(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, c := range []struct{ elements, chunks, streams, want int }{
		{10_000, 1, 1, 1},               // one stream
		{100, 1, 64, 1},                 // too little work
		{10_000, 1, 64, 4},              // 640,000 elements
		{xof.ChunkElements, 1, 1000, 8}, // as many as cores
		{xof.ChunkElements, 1, 3, 1},
		{xof.ChunkElements * 8, 8, 100, 1}, // enough chunks
		{xof.ChunkElements * 4, 4, 100, 2},
	} {
		if got := groupsOf(c.elements, c.chunks, c.streams); got != c.want {
			t.Errorf("%v: %d groups", c, got)
		}
	}
}

// benchmarkAdd adds many streams of one dimension.
func benchmarkAdd(b *testing.B, elements, n int, add func(acc field.Vector, seeds []*xof.Stream)) {
	seeds, acc := streams(b, n, 5), make(field.Vector, elements)
	b.SetBytes(int64(elements * n * field.ElementSize))
	b.ReportAllocs()
	for b.Loop() {
		add(acc, seeds)
	}
}

func BenchmarkAdder(b *testing.B) {
	together := func(acc field.Vector, seeds []*xof.Stream) { new(Adder).Add(acc, seeds...) }
	oneByOne := func(acc field.Vector, seeds []*xof.Stream) {
		for _, s := range seeds {
			new(Adder).Add(acc, s)
		}
	}
	b.Run("d=1e4/n=64/together", func(b *testing.B) { benchmarkAdd(b, 10_000, 64, together) })
	b.Run("d=1e4/n=64/one-by-one", func(b *testing.B) { benchmarkAdd(b, 10_000, 64, oneByOne) })
	b.Run("d=1e6/n=4/together", func(b *testing.B) { benchmarkAdd(b, 1_000_000, 4, together) })
}
