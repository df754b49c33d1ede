package protocol

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"choir/crypto/field"
	"choir/crypto/xof"
)

// TestSealerIsCanonical: a Sealer's messages are the canonical forms of their chunks, in any
// order, in parallel and the second time.
func TestSealerIsCanonical(t *testing.T) {
	p := testPlan()
	p.Dim = 2*xof.ChunkElements + 5
	s, encoded := Bind(p), encodedVector(Bind(p))
	x, err := s.Sealer(testSecret(t, 1), shareContext)
	if err != nil {
		t.Fatal(err)
	}
	messages := make([][]byte, s.Chunks())
	var group sync.WaitGroup
	for i := range messages {
		group.Go(func() {
			messages[i], _ = x.Seal(i, func(plain []byte) {
				copy(plain, encoded[i*xof.ChunkElements*field.ElementSize:])
			})
		})
	}
	group.Wait()
	want := sealedChunks(t, s, testSecret(t, 1))
	for i, b := range messages {
		canonical, err := want[i].Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, canonical) {
			t.Errorf("chunk %d is not in canonical form", i)
		}
		again, ciphertext := x.Seal(i, func(plain []byte) {
			copy(plain, encoded[i*xof.ChunkElements*field.ElementSize:])
		})
		if !bytes.Equal(again, b) || !bytes.Equal(ciphertext, want[i].Ciphertext) {
			t.Errorf("chunk %d differs the second time", i)
		}
	}
}

// TestViewChunkDoesNotCopy: ViewChunk copies nothing, UnmarshalChunk copies all, and OpenChunkTo
// uses the buffer that it is given.
func TestViewChunkDoesNotCopy(t *testing.T) {
	p := testPlan()
	p.Dim = 5
	s := Bind(p)
	b, err := sealedChunks(t, s, testSecret(t, 1))[0].Marshal()
	if err != nil {
		t.Fatal(err)
	}
	view, err := ViewChunk(b)
	if err != nil {
		t.Fatal(err)
	}
	if &view.Ciphertext[0] != &b[chunkHeader] {
		t.Error("the view is a copy")
	}
	own, err := UnmarshalChunk(b)
	if err != nil {
		t.Fatal(err)
	}
	room := make([]byte, 0, 40)
	plain, err := s.OpenChunkTo(room, testSecret(t, 1), view)
	if err != nil || &plain[0] != &room[:1][0] {
		t.Errorf("it did not open into the buffer: %v", err)
	}
	clear(b)
	if bytes.Equal(own.Ciphertext, view.Ciphertext) {
		t.Error("the copy changed with the message")
	}
}

// TestVectorHashInPieces: the digest of a vector does not depend on the pieces.
func TestVectorHashInPieces(t *testing.T) {
	v := make(field.Vector, 1500)
	for i := range v {
		v[i] = field.Element(i * i)
	}
	o := Opening{Salt: [32]byte{1}, Blinding: [32]byte{2}}
	want := VectorDigest(v, o)
	if other := (Opening{Salt: [32]byte{3}, Blinding: o.Blinding}); VectorDigest(v, other) == want {
		t.Error("the salt is not in the digest")
	}
	for _, size := range []int{1, 7, 512, 1500} {
		h := NewVectorHash()
		for part := range slices.Chunk(v, size) {
			h.Write(field.AppendVector(nil, part))
		}
		if h.Digest(o) != want {
			t.Errorf("in pieces of %d: wrong digest", size)
		}
	}
	key, ints := DigestKey{9}, []int64{-1, 0, 5}
	for _, of := range [][]int64{ints, {-1, 0, 6}, {-1, 0}, nil} {
		if ReuseIntDigest(key, IntDigest(key, of), of, ints) != IntDigest(key, ints) {
			t.Errorf("ReuseIntDigest of %v: wrong digest", of)
		}
	}
}
