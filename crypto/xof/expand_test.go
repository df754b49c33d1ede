package xof

import (
	"crypto/cipher"
	"encoding/binary"
	"slices"
	"testing"

	"choir/crypto/field"

	"pgregory.net/rapid"
)

// words draws keystream words, rejected ones and their neighbours often.
func words() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]uint64{
				0, field.Modulus - 1, field.Modulus, field.Modulus + 1, 1<<64 - 1,
			}).Draw(t, "word")
		case 1:
			return rapid.Uint64Range(field.Modulus, 1<<64-1).Draw(t, "word")
		}
		return rapid.Uint64().Draw(t, "word")
	})
}

// canonical returns the words below p, in order.
func canonical(stream []uint64) field.Vector {
	var out field.Vector
	for _, w := range stream {
		if w < field.Modulus {
			out = append(out, field.Element(w))
		}
	}
	return out
}

// recorded is a keystream that plays given words, and fails the test at their end.
type recorded struct {
	t      interface{ Fatalf(string, ...any) }
	stream []byte
}

func (r *recorded) XORKeyStream(dst, src []byte) {
	if len(r.stream) < len(src) {
		r.t.Fatalf("read beyond the recorded keystream")
	}
	for i, b := range src {
		dst[i] = b ^ r.stream[i]
	}
	r.stream = r.stream[len(src):]
}

var _ cipher.Stream = (*recorded)(nil)

func bytesOf(stream []uint64) []byte {
	var out []byte
	for _, w := range stream {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func TestAcceptSkipsRejectedWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SliceOfN(words(), 0, 40).Draw(t, "stream")
		dst := make(field.Vector, len(stream))
		n := accept(dst, bytesOf(stream), field.Vector.SetWords)
		if want := canonical(stream); !slices.Equal(dst[:n], want) {
			t.Fatalf("accepted %v, want %v", dst[:n], want)
		}
	})
}

// TestReadGoesOnAfterRejections: elements are in order, and none is lost or repeated, for all positions
// of rejected words and all sizes of reads.
func TestReadGoesOnAfterRejections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SliceOfN(words(), 0, 60).Draw(t, "stream")
		want := canonical(stream)
		ctr, buf := &recorded{t: t, stream: bytesOf(stream)}, new(scratch)
		cut := rapid.IntRange(0, len(want)).Draw(t, "cut")
		first, second := make(field.Vector, cut), make(field.Vector, len(want)-cut)
		cursor{ctr}.combine(first, buf, field.Vector.SetWords)
		cursor{ctr}.combine(second, buf, field.Vector.SetWords)
		if got := append(first, second...); !slices.Equal(got, want) {
			t.Fatalf("read %v, want %v", got, want)
		}
	})
}

func TestReadThroughRejectionsOnly(t *testing.T) {
	stream := append(slices.Repeat([]uint64{1<<64 - 1}, 5*batch), 1, 2, 3)
	got := make(field.Vector, 3)
	cursor{&recorded{t: t, stream: bytesOf(stream)}}.combine(got, new(scratch), field.Vector.SetWords)
	if !got.Equal(field.Vector{1, 2, 3}) {
		t.Fatalf("got %v", got)
	}
}

// TestAddAndSubSkipRejectedWordsToo: addTo and SubFrom add and subtract the elements of Fill, for all
// positions of rejected words.
func TestAddAndSubSkipRejectedWordsToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SliceOfN(words(), 0, 60).Draw(t, "stream")
		next := canonical(stream)
		start := make(field.Vector, len(next))
		for i := range start {
			start[i] = field.Element(rapid.Uint64Range(0, field.Modulus-1).Draw(t, "start"))
		}
		sum, difference := slices.Clone(start), slices.Clone(start)
		cursor{&recorded{t: t, stream: bytesOf(stream)}}.combine(sum, new(scratch), field.Vector.AddWords)
		cursor{&recorded{t: t, stream: bytesOf(stream)}}.combine(difference, new(scratch), field.Vector.SubWords)
		for i, e := range next {
			if sum[i] != field.Add(start[i], e) || difference[i] != field.Sub(start[i], e) {
				t.Fatalf("element %d: %v and %v", i, sum[i], difference[i])
			}
		}
	})
}

// TestAllIsOneByOne: many streams in one call are the same streams in turn.
func TestAllIsOneByOne(t *testing.T) {
	var streams []*Stream
	want := make(field.Vector, 300)
	for i := range byte(5) {
		s, err := New(Key{i})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
		s.AddTo(want, 2)
	}
	got := make(field.Vector, 300)
	AddAll(got, 2, streams)
	if !got.Equal(want) {
		t.Fatal("the sums differ")
	}
	SubAll(got, 2, streams)
	if !got.Equal(make(field.Vector, 300)) {
		t.Fatal("the sums differ from the differences")
	}
}
