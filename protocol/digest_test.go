package protocol

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"choir/crypto/blake"
	"choir/crypto/field"

	"pgregory.net/rapid"
)

// TestLongDigests: each digest is BLAKE3 in its context, of the input in docs/wire.md, around
// every boundary of blocks and chunks and of what the library hashes at once.
func TestLongDigests(t *testing.T) {
	s := testSession(t)
	for _, n := range []int{0, 1, 7, 8, 9, 127, 128, 129, 1023, 1024, 1025, 2047, 2048, 2049, 4100, 10_000} {
		b := make([]byte, 8*n)
		for i := range b {
			b[i] = byte(i % 251)
		}
		if NewChunkHash().Digest(b) != blake.Derive(chunkContext, b) {
			t.Errorf("%d bytes: wrong digest of a chunk", len(b))
		}
		v := make(field.Vector, n)
		for i := range v {
			v[i] = field.Element(i)
		}
		o := Opening{Salt: [32]byte{1}, Blinding: [32]byte{2}}
		if VectorDigest(v, o) != blake.Derive(vectorContext, field.AppendVector(nil, v), o.Salt[:], o.Blinding[:]) {
			t.Errorf("%d elements: wrong digest", n)
		}
		set := make([]Entry, n)
		want := append(append([]byte{}, s.ID[:]...), 0, 0, 0, 2, 0, 0, 0, 5)
		for i := range set {
			set[i] = Entry{uint32(3 * i), testDigest(byte(i))}
			want = append(binary.BigEndian.AppendUint32(want, set[i].Party), set[i].Bundle[:]...)
		}
		if SetDigest(s, 2, 5, set) != blake.Derive(setContext, want) {
			t.Errorf("a set of %d: wrong digest", n)
		}
	}
}

// packedByHand encodes the packed form of docs/wire.md integer by integer.
func packedByHand(v []int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
	for block := range slices.Chunk(v, 4096) {
		width := 0
		for _, x := range block {
			for w := 8; w > width; w-- { // the smallest that sign extension restores
				if shift := 64 - 8*(w-1); w == 1 && x != 0 || w > 1 && x<<shift>>shift != x {
					width = w
					break
				}
			}
		}
		b = append(b, byte(width))
		for _, x := range block {
			b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(x))[:width]...)
		}
	}
	for len(b)%8 != 1 {
		b = append(b, 0)
	}
	return b
}

// TestIntDigest: IntDigest hashes the packed form, whether it is packed whole or in pieces, and
// with blocks of different widths.
func TestIntDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v []int64
		for range rapid.IntRange(0, 20).Draw(t, "blocks") {
			bound := int64(1) << rapid.IntRange(0, 62).Draw(t, "bits")
			for i := range int64(packedBlock) {
				v = append(v, (i*0x9e3779b97f4a7c1+i<<60)%bound)
			}
		}
		v = append(v, rapid.SliceOfN(rapid.Int64(), 0, 20).Draw(t, "last")...)
		want := packedByHand(v)
		p := NewIntPacker(len(v))
		for rest := v; len(rest) > 0; {
			n := min(len(rest), packedBlock*rapid.IntRange(1, 3).Draw(t, "piece"))
			p.Write(rest[:n])
			rest = rest[n:]
		}
		key := DigestKey{7}
		d, packed := p.End(key)
		if !bytes.Equal(packed, want) || !bytes.Equal(PackInts(v), want) {
			t.Fatalf("%d integers: wrong packed form", len(v))
		}
		if d != blake.Derive(integersContext, want, key[:]) || d != IntDigest(key, v) {
			t.Fatalf("%d integers: wrong digest", len(v))
		}
		if again, same := p.End(key); again != d || !bytes.Equal(same, packed) {
			t.Fatalf("%d integers: End differs the second time", len(v))
		}
	})
}

// TestChunkHashReuse: a digest does not depend on the chunk before.
func TestChunkHashReuse(t *testing.T) {
	h := NewChunkHash()
	for _, n := range []int{100_000, 3, 20_000, 0} {
		b := make([]byte, n)
		if h.Digest(b) != NewChunkHash().Digest(b) {
			t.Errorf("%d bytes: wrong digest", n)
		}
	}
	b := make([]byte, 80_016)
	if n := testing.AllocsPerRun(20, func() { h.Digest(b) }); n > 0 {
		t.Errorf("%v allocations a chunk", n)
	}
}

// TestContextsDiffer: the same bytes give different digests and keys in different contexts.
func TestContextsDiffer(t *testing.T) {
	seen := map[Digest]string{}
	for _, c := range []string{sealKey, maskKey, confirmKey, groupKey, blindingKey, workerKey,
		ownerContext, channelContext, manifestContext, bundleContext, chunksContext, leafContext, innerContext,
		fileContext, chunkContext, vectorContext, integersContext, setContext} {
		d := Digest(blake.Derive(c, []byte{1}))
		if seen[d] != "" {
			t.Errorf("%s and %s are the same", c, seen[d])
		}
		seen[d] = c
	}
}

// BenchmarkChunkDigest measures the digest of a contribution's ciphertext at d = 1e4.
func BenchmarkChunkDigest(b *testing.B) {
	chunk, h := make([]byte, 80_016), NewChunkHash()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		h.Digest(chunk)
	}
}
