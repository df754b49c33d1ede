package xof

import (
	"encoding/binary"
	"slices"
	"testing"

	"choir/crypto/field"
)

// group is the number of words that the addition processes at a time.
const group = 16

// TestRejectedWords: these three chunks, found by search, have a word of p or more (one chunk in 65536
// has), so that the elements after it move up by one index. Every way to combine a chunk agrees with
// the definition there.
func TestRejectedWords(t *testing.T) {
	key := Key{0xd5, 0x94, 0x59, 0xa1, 0x59, 0x2e, 0x7e, 0x31, 0xe0, 0xb9, 0x8c, 0x68, 0x48, 0x6c, 0x09, 0x44,
		0x1f, 0xbc, 0x7c, 0x45, 0xec, 0xa1, 0x50, 0xcb, 0xf0, 0xe8, 0xce, 0x36, 0x1a, 0x19, 0x7f, 0x24}
	s, other := mustNew(t, key), mustNew(t, Key{4})
	for chunk, place := range map[uint64]int{7871: 452 * group, 18245: 627 * group, 38969: 1895 * group} {
		want := oracle(key, chunk, ChunkElements)
		if !moved(s, chunk, place, want) {
			t.Fatalf("chunk %d: no word is skipped after index %d: the test has no effect", chunk, place)
		}
		for _, n := range []int{ChunkElements, place + 1, place + group - 1, place + group + 3} {
			if got := filled(s, n, chunk); !got.Equal(want[:n]) {
				t.Errorf("chunk %d: Fill of %d differs", chunk, n)
			}
			sum := make(field.Vector, n)
			if s.AddTo(sum, chunk); !sum.Equal(want[:n]) {
				t.Errorf("chunk %d: AddTo of %d differs", chunk, n)
			}
			if s.SubFrom(sum, chunk); !sum.Equal(make(field.Vector, n)) {
				t.Errorf("chunk %d: SubFrom of %d does not undo it", chunk, n)
			}
		}
		for _, window := range []int{512, 100, 33, 7} {
			got, sweep := filled(other, place+200, chunk), newSweep(chunk, []*Stream{s, other})
			got.Neg()
			for w := range slices.Chunk(got, window) {
				sweep.addTo(w)
			}
			if !got.Equal(want[:len(got)]) {
				t.Errorf("chunk %d: windows of %d differ", chunk, window)
			}
		}
	}
}

// moved reports whether the words of the group after the index are at an index of the keystream that is
// higher by one than among the elements.
func moved(s *Stream, chunk uint64, place int, elements field.Vector) bool {
	raw := make([]byte, 2*group*field.ElementSize)
	s.counter(chunk, uint64(place/2)).XORKeyStream(raw, raw)
	last := field.Element(binary.LittleEndian.Uint64(raw[len(raw)-field.ElementSize:]))
	return elements[place+2*group-2] == last && elements[place+2*group-1] != last
}
