package xof

import (
	"testing"

	"choir/crypto/field"
)

func BenchmarkAddTo(b *testing.B) {
	s, err := New(Key{1})
	if err != nil {
		b.Fatal(err)
	}
	dst := make(field.Vector, ChunkElements)
	b.SetBytes(ChunkElements * field.ElementSize)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		s.AddTo(dst, i)
	}
}

func BenchmarkFill(b *testing.B) {
	s, err := New(Key{1})
	if err != nil {
		b.Fatal(err)
	}
	dst := make(field.Vector, ChunkElements)
	b.SetBytes(ChunkElements * field.ElementSize)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		s.Fill(dst, i)
	}
}

// BenchmarkLimit measures the minimum of an expansion: the keystream of the cipher into a buffer, and
// a sum of field elements.
func BenchmarkLimit(b *testing.B) {
	s, err := New(Key{1})
	if err != nil {
		b.Fatal(err)
	}
	dst, other := make(field.Vector, ChunkElements), make(field.Vector, batch)
	buf := new(scratch)
	b.SetBytes(ChunkElements * field.ElementSize)
	for i := uint64(0); b.Loop(); i++ {
		ctr := s.counter(i, 0)
		for at := 0; at < ChunkElements; at += batch {
			ctr.XORKeyStream(buf.words[:], buf.zeros[:])
			dst[at : at+batch].Add(other)
		}
	}
}
