package xof

import (
	"testing"

	"choir/crypto/field"
)

func BenchmarkAddTo(b *testing.B) {
	s, err := New(Key{1}, "bench", nil)
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
	s, err := New(Key{1}, "bench", nil)
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
