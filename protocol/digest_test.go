package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"testing"

	"choir/crypto/field"
)

// The functions below are BLAKE3 written down from its specification (O'Connor,
// Aumasson, Neves, Wilcox-O'Hearn, 2020, section 2), one block at a time, with key
// derivation as the only mode: an independent value for every digest of long data.

var iv = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

const (
	chunkStart, chunkEnd, parent, rootFlag = 1, 2, 4, 8
	contextMode, materialMode              = 32, 64
)

func compress3(cv [8]uint32, block [64]byte, counter uint64, size, flags uint32) (out [8]uint32) {
	var m [16]uint32
	for i := range m {
		m[i] = binary.LittleEndian.Uint32(block[4*i:])
	}
	v := [16]uint32{cv[0], cv[1], cv[2], cv[3], cv[4], cv[5], cv[6], cv[7], iv[0], iv[1], iv[2], iv[3],
		uint32(counter), uint32(counter >> 32), size, flags}
	g := func(a, b, c, d int, x, y uint32) {
		v[a] += v[b] + x
		v[d] = bits.RotateLeft32(v[d]^v[a], -16)
		v[c] += v[d]
		v[b] = bits.RotateLeft32(v[b]^v[c], -12)
		v[a] += v[b] + y
		v[d] = bits.RotateLeft32(v[d]^v[a], -8)
		v[c] += v[d]
		v[b] = bits.RotateLeft32(v[b]^v[c], -7)
	}
	for range 7 {
		for i := range 4 {
			g(i, 4+i, 8+i, 12+i, m[2*i], m[2*i+1])
		}
		for i := range 4 {
			g(i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4, m[8+2*i], m[9+2*i])
		}
		p := m
		for i, from := range []int{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8} {
			m[i] = p[from]
		}
	}
	for i := range out {
		out[i] = v[i] ^ v[8+i]
	}
	return out
}

// node3 is the chaining value of some input whose first chunk has the given number,
// with more flags at its last compression.
func node3(key [8]uint32, in []byte, first uint64, mode, more uint32) [8]uint32 {
	if len(in) > 1024 {
		left := 1024
		for 2*left < len(in) {
			left *= 2
		}
		var block [64]byte
		for i, half := range [][8]uint32{node3(key, in[:left], first, mode, 0), node3(key, in[left:], first+uint64(left/1024), mode, 0)} {
			for j, w := range half {
				binary.LittleEndian.PutUint32(block[32*i+4*j:], w)
			}
		}
		return compress3(key, block, 0, 64, parent|mode|more)
	}
	cv, flags := key, uint32(chunkStart)
	for len(in) > 64 {
		cv, in, flags = compress3(cv, [64]byte(in), first, 64, flags|mode), in[64:], 0
	}
	var block [64]byte
	size := copy(block[:], in)
	return compress3(cv, block, first, uint32(size), flags|chunkEnd|mode|more)
}

// long3 is BLAKE3's derive_key of 32 bytes.
func long3(context string, material []byte) (d Digest) {
	key := node3(iv, []byte(context), 0, contextMode, rootFlag)
	for i, w := range node3(key, material, 0, materialMode, rootFlag) {
		binary.LittleEndian.PutUint32(d[4*i:], w)
	}
	return d
}

// TestReferenceIsBLAKE3: the reference gives what BLAKE3's own test vectors have for
// the empty input (test_vectors.json of the BLAKE3 team).
func TestReferenceIsBLAKE3(t *testing.T) {
	d := long3("BLAKE3 2019-12-27 16:29:52 test vectors context", nil)
	if got := hex.EncodeToString(d[:]); got != "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d" {
		t.Errorf("derive_key of nothing is %s", got)
	}
}

// TestLongDigests: around every boundary of blocks, chunks and what the library takes
// in at once, each digest is BLAKE3's in its own context.
func TestLongDigests(t *testing.T) {
	s := testSession(t)
	for _, n := range []int{0, 1, 7, 8, 9, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049, 4100, 10_000} {
		b := make([]byte, 8*n)
		for i := range b {
			b[i] = byte(i % 251)
		}
		if ChunkDigest(b) != long3(chunkContext, b) {
			t.Errorf("%d bytes: another digest of a chunk", len(b))
		}
		ints, _ := Ints(b)
		if IntDigest(ints) != long3(integersContext, b) {
			t.Errorf("%d integers: another digest", n)
		}
		pieces := NewIntHash()
		for rest := b; len(rest) > 0; {
			k := min(len(rest), 8*300)
			pieces.Write(rest[:k])
			rest = rest[k:]
		}
		if pieces.Digest() != IntDigest(ints) {
			t.Errorf("%d integers in pieces: another digest", n)
		}
		v := make(field.Vector, n)
		for i := range v {
			v[i] = field.Element(i)
		}
		if VectorDigest(v) != long3(vectorContext, field.AppendVector(nil, v)) {
			t.Errorf("%d elements: another digest", n)
		}
		set := make([]Entry, n)
		want := append(append([]byte{}, s.ID[:]...), 0, 0, 0, 2, 0, 0, 0, 5)
		for i := range set {
			set[i] = Entry{uint32(3 * i), testDigest(byte(i))}
			want = append(binary.BigEndian.AppendUint32(want, set[i].Party), set[i].Bundle[:]...)
		}
		if SetDigest(s, 2, 5, set) != long3(setContext, want) {
			t.Errorf("a set of %d: another digest", n)
		}
	}
}

// TestChunkHashIsUsedAgain: nothing of the chunk before stays.
func TestChunkHashIsUsedAgain(t *testing.T) {
	h := NewChunkHash()
	for _, n := range []int{100_000, 3, 20_000, 0} {
		b := make([]byte, n)
		if h.Digest(b) != ChunkDigest(b) {
			t.Errorf("%d bytes: another digest", n)
		}
	}
	b := make([]byte, 80_016)
	if n := testing.AllocsPerRun(20, func() { h.Digest(b) }); n > 0 {
		t.Errorf("%v allocations a chunk", n)
	}
}

// TestContextsDiffer: the same bytes have another digest in each use.
func TestContextsDiffer(t *testing.T) {
	seen := map[Digest]string{}
	for _, c := range []string{chunkContext, vectorContext, integersContext, setContext} {
		d := long3(c, []byte{1})
		if seen[d] != "" {
			t.Errorf("%s and %s are one", c, seen[d])
		}
		seen[d] = c
	}
}

// BenchmarkChunkDigest is the digest of a contribution's ciphertext at d = 1e4.
func BenchmarkChunkDigest(b *testing.B) {
	chunk, h := make([]byte, 80_016), NewChunkHash()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		h.Digest(chunk)
	}
}
