package field

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, _ := pair(t)
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "prefix")
		encoded := AppendVector(slices.Clone(prefix), v)
		if !bytes.HasPrefix(encoded, prefix) || len(encoded) != len(prefix)+len(v)*ElementSize {
			t.Fatalf("%d bytes with a prefix of %d for %d elements", len(encoded), len(prefix), len(v))
		}
		decoded := make(Vector, len(v))
		if err := DecodeVector(decoded, encoded[len(prefix):]); err != nil {
			t.Fatal(err)
		}
		if !decoded.Equal(v) {
			t.Fatalf("%v became %v", v, decoded)
		}
	})
}

func TestDecodeRejectsWrongLengths(t *testing.T) {
	for elements := range 4 {
		for size := range 40 {
			dst := slices.Repeat(Vector{7}, elements)
			err := DecodeVector(dst, make([]byte, size))
			if size == elements*ElementSize {
				if err != nil {
					t.Errorf("%d bytes for %d elements: %v", size, elements, err)
				}
				continue
			}
			if !errors.Is(err, ErrLength) {
				t.Errorf("%d bytes for %d elements: %v, want ErrLength", size, elements, err)
			}
			if !dst.Equal(slices.Repeat(Vector{7}, elements)) {
				t.Errorf("%d bytes for %d elements: dst was changed", size, elements)
			}
		}
	}
}

func TestDecodeNamesTheFirstNonCanonicalElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		words := make([]uint64, n)
		for i := range words {
			words[i] = uint64(elements().Draw(t, "word"))
		}
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		words[first] = rapid.SampledFrom([]uint64{Modulus, Modulus + 1, 1<<64 - 1}).Draw(t, "bad")
		words[rapid.IntRange(first, n-1).Draw(t, "second")] = Modulus
		dst := slices.Repeat(Vector{7}, n)
		err := DecodeVector(dst, encodeWords(words))
		where := fmt.Sprintf("index %d of %d", first, n)
		if !errors.Is(err, ErrNonCanonical) || !strings.Contains(err.Error(), where) {
			t.Fatalf("got %v, want ErrNonCanonical at %d of %d", err, first, n)
		}
		if !dst.Equal(slices.Repeat(Vector{7}, n)) {
			t.Fatal("dst was changed")
		}
	})
}

// FuzzDecodeVector checks that every accepted encoding is the encoding of its vector, and that
// every such encoding is accepted.
func FuzzDecodeVector(f *testing.F) {
	f.Add([]byte{}, 0)
	f.Add(make([]byte, 16), 2)
	f.Add(encodeWords([]uint64{Modulus - 1, 1}), 2)
	f.Add(encodeWords([]uint64{1, Modulus}), 2)
	f.Add(encodeWords([]uint64{1<<64 - 1}), 1)
	f.Add([]byte{1, 2, 3}, 1)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		if n < 0 || n > 1<<12 {
			return
		}
		dst := slices.Repeat(Vector{7}, n)
		err := DecodeVector(dst, src)
		if err != nil {
			if !dst.Equal(slices.Repeat(Vector{7}, n)) {
				t.Fatal("dst was changed by a rejection")
			}
			if len(src) == n*ElementSize && firstNonCanonical(src) < 0 {
				t.Fatalf("a valid encoding was rejected: %v", err)
			}
			return
		}
		if !bytes.Equal(AppendVector(nil, dst), src) {
			t.Fatal("accepted bytes that are not an encoding")
		}
	})
}

func encodeWords(words []uint64) []byte {
	var out []byte
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func BenchmarkDecodeVector(b *testing.B) {
	v := make(Vector, 65536)
	encoded := AppendVector(nil, v)
	b.SetBytes(int64(len(encoded)))
	for b.Loop() {
		if err := DecodeVector(v, encoded); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSumsWithEncodings compares adding an encoding with decoding and adding. What decoding
// rejects is rejected and changes nothing.
func TestSumsWithEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := pair(t)
		encoded := make([]byte, len(w)*ElementSize)
		PutVector(encoded, w)
		if !bytes.Equal(encoded, AppendVector(nil, w)) {
			t.Fatal("PutVector and AppendVector differ")
		}
		sum, want := slices.Clone(v), slices.Clone(v)
		want.Add(w)
		if err := sum.AddEncoded(encoded); err != nil || !sum.Equal(want) {
			t.Fatalf("%v, want %v: %v", sum, want, err)
		}
		if err := sum.SubEncoded(encoded); err != nil || !sum.Equal(v) {
			t.Fatalf("%v, want %v: %v", sum, v, err)
		}
		bad := binary.LittleEndian.AppendUint64(encoded, Modulus)
		longer := append(slices.Clone(v), 7)
		for _, f := range []func([]byte) error{longer.AddEncoded, longer.SubEncoded} {
			if err := f(bad); !errors.Is(err, ErrNonCanonical) {
				t.Fatalf("p is accepted as an element: %v", err)
			}
			if err := f(bad[1:]); !errors.Is(err, ErrLength) {
				t.Fatalf("one byte missing: %v", err)
			}
		}
		if !longer.Equal(append(slices.Clone(v), 7)) {
			t.Fatal("a rejection changed the vector")
		}
	})
}

func TestPutVectorPanicsOnWrongLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	PutVector(make([]byte, 15), make(Vector, 2))
}
