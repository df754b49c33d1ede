package blake

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"
)

const context = "choir test"

// pattern is n bytes that differ from their neighbours, as in BLAKE3's own vectors.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

// TestReferenceIsBLAKE3: the reference gives what BLAKE3's own test vectors have
// (test_vectors.json of the BLAKE3 team), and so does this package.
func TestReferenceIsBLAKE3(t *testing.T) {
	const theirs = "BLAKE3 2019-12-27 16:29:52 test vectors context"
	const want = "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d" // of the empty input
	for name, got := range map[string][size]byte{
		"reference": reference(theirs, nil), "Derive": Derive(theirs), "Hash": NewHash(theirs).Sum(),
	} {
		t.Run(name, func(t *testing.T) {
			if hex.EncodeToString(got[:]) != want {
				t.Errorf("%s of nothing is %x", name, got)
			}
		})
	}
}

// TestAgainstReference tries lengths around every boundary: of blocks, of chunks, of the buffers of the
// library, and of the zeros with which hashers are wiped.
func TestAgainstReference(t *testing.T) {
	hash := NewHash(context)
	for _, n := range []int{0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 2048,
		2049, 8191, 8192, 8193, 16384, 16385, 40_000} {
		b := pattern(n)
		want := reference(context, b)
		if got := Derive(context, b); got != want {
			t.Errorf("Derive of %d bytes is another value", n)
		}
		if got := Derive(context, b[:n/3], nil, b[n/3:n/2], b[n/2:]); got != want {
			t.Errorf("Derive of %d bytes in parts is another value", n)
		}
		hash.Reset()
		for rest := b; len(rest) > 0; {
			k := min(len(rest), 300)
			hash.Write(rest[:k])
			rest = rest[k:]
		}
		if got := hash.Sum(); got != want {
			t.Errorf("Hash of %d bytes is another value", n)
		}
	}
}

func TestAgainstReferenceDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		use := rapid.SampledFrom([]string{"a", "b", "choir test 1", string(pattern(100))}).Draw(t, "context")
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 200), 0, 5).Draw(t, "parts")
		if Derive(use, parts...) != reference(use, bytes.Join(parts, nil)) {
			t.Fatal("another value")
		}
	})
}

// TestConcurrentUse: hashers pass from hand to hand, and no value is another's.
func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				use, b := fmt.Sprint("use ", (g+i)%3), pattern(g+i)
				if Derive(use, b) != reference(use, b) {
					t.Errorf("goroutine %d, turn %d: another value", g, i)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestWipe: a hasher that goes back has nothing of the material in it.
func TestWipe(t *testing.T) {
	for _, n := range []int{1, 32, 81, len(zeros), len(zeros) + 1, 1024, 1025, 5000, 8191} {
		h := blake3.NewDeriveKey(context)
		material := bytes.Repeat([]byte{0xA7}, n)
		_, _ = h.Write(material)
		h.Sum(nil)
		if !bytes.Contains(buffer(h), []byte{0xA7}) {
			t.Fatal("the buffer is not where this test expects it")
		}
		wipe(h, n)
		if bytes.Contains(buffer(h), []byte{0xA7}) {
			t.Errorf("something of %d bytes is left", n)
		}
		if got, want := h.Sum(nil), reference(context, nil); !bytes.Equal(got, want[:]) {
			t.Errorf("after %d bytes a wiped hasher differs from a new one", n)
		}
	}
}

// buffer is what a hasher has buffered, and what it had.
func buffer(h *blake3.Hasher) []byte {
	b := reflect.ValueOf(h).Elem().FieldByName("h").FieldByName("buf")
	return b.Slice(0, b.Len()).Bytes()
}

func TestNoGarbage(t *testing.T) {
	secret, material := [size]byte{1}, make([]byte, 49)
	n := testing.AllocsPerRun(1000, func() { Derive(context, secret[:], material) })
	if n >= 1 { // not 0, since the garbage collector may empty the pool
		t.Errorf("%v allocations for a key", n)
	}
}

func BenchmarkDerive(b *testing.B) {
	secret, material := [size]byte{1}, make([]byte, 49)
	b.ReportAllocs()
	for b.Loop() {
		Derive(context, secret[:], material)
	}
}
