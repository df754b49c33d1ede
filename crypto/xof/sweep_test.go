package xof

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/field"
)

// TestSweepIsTheWholeChunk: windows of any lengths make what AddAll and SubAll make.
func TestSweepIsTheWholeChunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var streams []*Stream
		for i := range rapid.IntRange(0, 4).Draw(t, "streams") {
			s, err := New(Key{byte(i)})
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, s)
		}
		n, chunk := rapid.IntRange(0, 3*batch).Draw(t, "n"), rapid.Uint64Range(0, 3).Draw(t, "chunk")
		start := make(field.Vector, n)
		for i := range start {
			start[i] = field.Element(i) * 1e15
		}
		sum, difference := slices.Clone(start), slices.Clone(start)
		AddAll(sum, chunk, streams)
		SubAll(difference, chunk, streams)
		add, sub := newSweep(chunk, streams), newSweep(chunk, streams)
		gotSum, gotDifference := slices.Clone(start), slices.Clone(start)
		for lo := 0; lo < n; {
			hi := min(n, lo+rapid.IntRange(1, batch+3).Draw(t, "window"))
			add.addTo(gotSum[lo:hi])
			sub.SubFrom(gotDifference[lo:hi])
			lo = hi
		}
		if !gotSum.Equal(sum) || !gotDifference.Equal(difference) {
			t.Fatalf("%d elements of chunk %d, %d streams: windows make another vector", n, chunk, len(streams))
		}
	})
}

func TestSweepEndsWithTheChunk(t *testing.T) {
	s := newSweep(0, []*Stream{mustNew(t, Key{1})})
	whole := make(field.Vector, ChunkElements)
	s.addTo(whole[:ChunkElements-1])
	s.addTo(whole[ChunkElements-1:])
	defer func() {
		if recover() == nil {
			t.Error("no panic behind the last element")
		}
	}()
	s.addTo(whole[:1])
}

// newSweep is a sweep at the first element of the chunk.
func newSweep(chunk uint64, streams []*Stream) *Sweep {
	s := new(Sweep)
	s.Begin(chunk, streams)
	return s
}

// addTo adds the next len(dst) elements of each stream to dst. It panics at the end of
// the chunk.
func (s *Sweep) addTo(dst field.Vector) { s.each(dst, add()) }
