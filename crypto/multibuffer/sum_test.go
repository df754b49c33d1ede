package multibuffer

import (
	"crypto/sha512"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// messages are n of random content with tails of the lengths given, in turn.
func messages(r *rand.ChaCha8, n int, lengths ...int) []Message {
	out := make([]Message, n)
	for i := range out {
		r.Read(out[i].Head[:])
		out[i].Tail = make([]byte, lengths[i%len(lengths)])
		r.Read(out[i].Tail)
	}
	return out
}

// hold holds the digests of all messages to the standard library's, and those of the first
// eight once more where they wouldn't be hashed side by side.
func hold(t rapid.TB, all []Message) {
	t.Helper()
	digests := make([][sha512.Size]byte, len(all))
	if len(all) >= Width {
		eight(digests, all, []int{0, 1, 2, 3, 4, 5, 6, 7})
		for i := range digests[:Width] {
			check(t, all, digests, i)
		}
		clear(digests)
	}
	Sum512(digests, all)
	for i := range all {
		check(t, all, digests, i)
	}
}

func check(t rapid.TB, all []Message, digests [][sha512.Size]byte, i int) {
	t.Helper()
	m := all[i]
	if want := sha512.Sum512(append(m.Head[:], m.Tail...)); digests[i] != want {
		t.Fatalf("message %d of %d, with %d bytes behind the head: %x, not %x", i, len(all), len(m.Tail), digests[i], want)
	}
}

// TestSum512 is against the standard library: every length up to three blocks, where the
// padding takes another block and where it doesn't, beside seven of the same length.
func TestSum512(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	for length := range 3*sha512.BlockSize + 3 {
		hold(t, messages(r, Width, length))
	}
}

// TestMixed: messages of any lengths in any number, those too long for company among them.
func TestMixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.NewChaCha8([32]byte{byte(rapid.IntRange(0, 255).Draw(t, "seed"))})
		length := rapid.OneOf(rapid.IntRange(0, 600), rapid.IntRange(longest*sha512.BlockSize-200, longest*sha512.BlockSize+200))
		lengths := rapid.SliceOfN(length, 1, 20).Draw(t, "lengths")
		hold(t, messages(r, rapid.IntRange(0, 40).Draw(t, "messages"), lengths...))
	})
}

// TestCompress holds the processor's form to the formula, of any state and block.
func TestCompress(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{2}))
	for range 2000 {
		var state [8][Width]uint64
		var block [16][Width]uint64
		for _, words := range [][][Width]uint64{state[:], block[:]} {
			for i := range words {
				for lane := range words[i] {
					words[i][lane] = r.Uint64() >> (r.Uint32() % 64)
				}
			}
		}
		want := state
		compressGo(&want, &block)
		if compress(&state, &block); state != want {
			t.Fatal("another state")
		}
	}
}

func BenchmarkSum512(b *testing.B) {
	all := messages(rand.NewChaCha8([32]byte{3}), 256, 335)
	digests := make([][sha512.Size]byte, len(all))
	for b.Loop() {
		Sum512(digests, all)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/message")
}

func BenchmarkOneByOne(b *testing.B) {
	all := messages(rand.NewChaCha8([32]byte{3}), 256, 335)
	digests, h := make([][sha512.Size]byte, len(all)), sha512.New()
	for b.Loop() {
		for i := range all {
			one(h, &digests[i], &all[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/message")
}
