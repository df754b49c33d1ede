package xof

import (
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

// TestRoundKeys is the example of FIPS 197, appendix A.3: the first words that are made,
// and the last.
func TestRoundKeys(t *testing.T) {
	key, err := hex.DecodeString("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
	if err != nil {
		t.Fatal(err)
	}
	w := expandKey((*[KeySize]byte)(key))
	if w == nil {
		return // this build or processor has no use for them: TestAddToAndSubFrom says what it does instead
	}
	var b []byte
	for _, word := range w {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	for at, want := range map[int]string{0: hex.EncodeToString(key), 32: "9ba354118e6925afa51a8b5f2067fcde", 224: "fe4890d1e6188d0b046df344706c631e"} {
		if got := hex.EncodeToString(b[at : at+len(want)/2]); got != want {
			t.Errorf("round keys from byte %d: %s, want %s", at, got, want)
		}
	}
}

// TestGroups holds the functions on groups to the standard library's AES, block by
// block, and to field's addition: any key, chunk, block and alignment, with elements
// around the group that must stay as they are.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [KeySize]byte(rapid.SliceOfN(rapid.Byte(), KeySize, KeySize).Draw(t, "key"))
		roundKeys, block := expandKey(&key), mustAES(t, key)
		chunk := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1<<64 - 1})).Draw(t, "chunk")
		first := rapid.OneOf(rapid.Uint64Range(0, 1<<63), rapid.SampledFrom([]uint64{0, 1, 255, 256, 1<<32 - 3, 1<<32 - 1})).Draw(t, "block")
		groups, misalign := rapid.IntRange(1, 5).Draw(t, "groups"), rapid.IntRange(0, 7).Draw(t, "misalign")
		const guard = 0x5a5a5a5a5a5a5a5a
		start := slices.Repeat(field.Vector{guard}, misalign+groups*group+8)
		inside := start[misalign:][:groups*group]
		for i := range inside {
			inside[i], _ = field.New(rapid.OneOf(rapid.Uint64Range(0, field.Modulus-1), rapid.SampledFrom([]uint64{0, field.Modulus - 1, 1 << 63})).Draw(t, "element"))
		}
		sum, difference := slices.Clone(start), slices.Clone(start)
		taken := groups // up to the first group with a word that is no element, if that ever comes up
		for i := range groups * group {
			var in, out [aes.BlockSize]byte
			binary.BigEndian.PutUint64(in[:8], chunk)
			binary.BigEndian.PutUint64(in[8:], first+uint64(i/2))
			block.Encrypt(out[:], in[:])
			e, ok := field.New(binary.LittleEndian.Uint64(out[i%2*8:]))
			if !ok {
				taken = min(taken, i/group)
			}
			sum[misalign+i], difference[misalign+i] = field.Add(start[misalign+i], e), field.Sub(start[misalign+i], e)
		}
		if roundKeys == nil || taken < groups {
			return
		}
		gotSum, gotDifference := slices.Clone(start), slices.Clone(start)
		a := addKeystreamAVX2(&gotSum[misalign], roundKeys, chunk, first, groups)
		s := subKeystreamAVX2(&gotDifference[misalign], roundKeys, chunk, first, groups)
		if a != groups || s != groups || !gotSum.Equal(sum) || !gotDifference.Equal(difference) {
			t.Fatalf("%d and %d of %d groups taken, or another keystream or sum than the standard library's", a, s, groups)
		}
	})
}

func mustAES(t interface{ Fatal(...any) }, key [KeySize]byte) interface{ Encrypt(dst, src []byte) } {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// TestRejectedWords: these three chunks, found by search, have a word of p or more
// (one chunk of 65536 has), so that what follows it moves up by one place. All ways to
// combine a chunk agree with the definition there.
func TestRejectedWords(t *testing.T) {
	key := Key{1, 2, 3}
	s, other := mustNew(t, key, "rejection", nil), mustNew(t, Key{4}, "other", nil)
	for chunk, place := range map[uint64]int{7871: 452 * group, 18245: 627 * group, 38969: 1895 * group} {
		want := oracle(key, "rejection", nil, chunk, ChunkElements)
		if !moved(s, chunk, place, want) {
			t.Fatalf("chunk %d: no word is skipped behind place %d: this test would show nothing", chunk, place)
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
				t.Errorf("chunk %d: SubFrom of %d doesn't undo it", chunk, n)
			}
		}
		for _, window := range []int{512, 100, 33, 7} {
			got, sweep := filled(other, place+200, chunk), NewSweep(chunk, []*Stream{s, other})
			got.Neg()
			for w := range slices.Chunk(got, window) {
				sweep.AddTo(w)
			}
			if !got.Equal(want[:len(got)]) {
				t.Errorf("chunk %d: windows of %d differ", chunk, window)
			}
		}
	}
}

// moved: a group of words behind the place stands one place further back in the
// keystream than among its elements.
func moved(s *Stream, chunk uint64, place int, elements field.Vector) bool {
	raw := make([]byte, 2*group*field.ElementSize)
	s.counter(chunk, uint64(place/2)).XORKeyStream(raw, raw)
	last := field.Element(binary.LittleEndian.Uint64(raw[len(raw)-field.ElementSize:]))
	return elements[place+2*group-2] == last && elements[place+2*group-1] != last
}

// TestWhoMakesTheKeystream: round keys are there exactly where they are used, so that
// the tests above see what is deployed.
func TestWhoMakesTheKeystream(t *testing.T) {
	s := mustNew(t, Key{1}, "who", nil)
	if (s.key != nil) != accelerated() {
		t.Errorf("round keys: %t, but accelerated: %t", s.key != nil, accelerated())
	}
}
