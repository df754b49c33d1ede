package channel

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func mustBox(t testing.TB, key byte, ad string) *Box {
	t.Helper()
	box, err := NewBox([32]byte{key}, []byte(ad))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func sealAll(box *Box, chunks [][]byte) (sealed [][]byte) {
	for i, c := range chunks {
		sealed = append(sealed, box.Seal(nil, uint32(i), i == len(chunks)-1, c))
	}
	return sealed
}

// receive opens a stream as a receiver does who does not know its length: it
// takes the chunk that opens as the last for the end, and wants nothing after.
func receive(box *Box, sealed [][]byte) (message []byte, err error) {
	for i, c := range sealed {
		if out, err := box.Open(message, uint32(i), true, c); err == nil {
			if i != len(sealed)-1 {
				return nil, errors.New("chunks after the last")
			}
			return out, nil
		}
		if message, err = box.Open(message, uint32(i), false, c); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no last chunk")
}

func TestStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 1, 6).Draw(rt, "chunks")
		box := mustBox(t, 1, "ad")
		sealed := sealAll(box, chunks)
		got, err := receive(box, sealed)
		if err != nil || !bytes.Equal(got, slices.Concat(chunks...)) {
			rt.Fatalf("got %x, %v", got, err)
		}
		for i := range sealed {
			if len(sealed[i]) != len(chunks[i])+Overhead {
				rt.Fatalf("chunk %d grew by %d", i, len(sealed[i])-len(chunks[i]))
			}
		}
	})
}

// TestManipulatedStreams is a table of what a broker may try.
func TestManipulatedStreams(t *testing.T) {
	chunks := [][]byte{[]byte("first"), []byte("second"), []byte("third")}
	box := mustBox(t, 1, "plan 1, round 1")
	s := sealAll(box, chunks)
	single := sealAll(box, chunks[:1])[0] // chunk 0, sealed as the last
	flipped := bytes.Clone(s[1])
	flipped[0] ^= 1
	for name, stream := range map[string][][]byte{
		"nothing":             {},
		"truncated":           s[:2],
		"without the first":   s[1:],
		"without the middle":  {s[0], s[2]},
		"reordered":           {s[1], s[0], s[2]},
		"repeated":            {s[0], s[0], s[1], s[2]},
		"repeated last":       {s[0], s[1], s[2], s[2]},
		"extended":            append(slices.Clone(s), box.Seal(nil, 3, true, []byte("more"))),
		"flipped bit":         {s[0], flipped, s[2]},
		"cut tag":             {s[0], s[1][:len(s[1])-1], s[2]},
		"empty chunk":         {s[0], {}, s[2]},
		"last flag set early": {single, s[1], s[2]},
		"last flag cleared":   {s[0], s[1], box.Seal(nil, 2, false, chunks[2])},
		"another key":         sealAll(mustBox(t, 2, "plan 1, round 1"), chunks),
		"another context":     sealAll(mustBox(t, 1, "plan 1, round 2"), chunks),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := receive(box, stream); err == nil {
				t.Errorf("accepted as %q", got)
			}
		})
	}
	if _, err := receive(box, s); err != nil {
		t.Errorf("untouched: %v", err)
	}
}

// TestOpenChecksEverything flips each bit of a sealed chunk and misplaces it.
func TestOpenChecksEverything(t *testing.T) {
	box := mustBox(t, 3, "ad")
	sealed := box.Seal(nil, 1<<24+5, false, []byte("some plaintext"))
	for bit := range 8 * len(sealed) {
		if _, err := box.Open(nil, 1<<24+5, false, flip(sealed, bit)); !errors.Is(err, ErrOpen) {
			t.Errorf("bit %d: %v, want ErrOpen", bit, err)
		}
	}
	for bit := range 32 {
		if _, err := box.Open(nil, (1<<24+5)^(1<<bit), false, sealed); !errors.Is(err, ErrOpen) {
			t.Errorf("index bit %d: %v, want ErrOpen", bit, err)
		}
	}
	if _, err := box.Open(nil, 1<<24+5, true, sealed); !errors.Is(err, ErrOpen) {
		t.Errorf("last flag: %v, want ErrOpen", err)
	}
	if got, err := box.Open(nil, 1<<24+5, false, sealed); err != nil || string(got) != "some plaintext" {
		t.Errorf("untouched: %q, %v", got, err)
	}
}

// TestNoncesDiffer checks the layout of the nonce over all single-bit indices,
// both flags.
func TestNoncesDiffer(t *testing.T) {
	seen := map[[12]byte]bool{}
	indices := []uint32{0, 1<<32 - 1}
	for bit := range 32 {
		indices = append(indices, 1<<bit)
	}
	for _, i := range indices {
		seen[nonce(i, false)] = true
		seen[nonce(i, true)] = true
	}
	if len(seen) != 2*len(indices) {
		t.Errorf("%d nonces, want %d", len(seen), 2*len(indices))
	}
	if want := [12]byte{7: 1, 8: 2, 9: 3, 10: 4, 11: 1}; nonce(0x01020304, true) != want {
		t.Errorf("nonce %x, want %x", nonce(0x01020304, true), want)
	}
}

func TestBoxInPlaceAndOwnContext(t *testing.T) {
	ad := []byte("context")
	box, err := NewBox([32]byte{4}, ad)
	if err != nil {
		t.Fatal(err)
	}
	want := box.Seal(nil, 0, true, []byte("plaintext"))
	ad[0]++
	buf := append(make([]byte, 0, 64), "plaintext"...)
	got := box.Seal(buf[:0], 0, true, buf)
	if !bytes.Equal(got, want) {
		t.Error("sealing in place, after the caller's ad changed, gives other bytes")
	}
	opened, err := box.Open(got[:0], 0, true, got)
	if err != nil || string(opened) != "plaintext" {
		t.Errorf("opening in place: %q, %v", opened, err)
	}
}

// FuzzOpen looks for bytes that open without having been sealed.
func FuzzOpen(f *testing.F) {
	box, err := NewBox([32]byte{5}, []byte("fuzz"))
	if err != nil {
		f.Fatal(err)
	}
	sealed := box.Seal(nil, 3, true, []byte("sealed"))
	f.Add(uint32(3), true, sealed)
	f.Add(uint32(0), false, []byte{})
	f.Add(uint32(3), false, sealed)
	f.Fuzz(func(t *testing.T, chunk uint32, last bool, ciphertext []byte) {
		out, err := box.Open(nil, chunk, last, ciphertext)
		genuine := chunk == 3 && last && bytes.Equal(ciphertext, sealed)
		if (err == nil) != genuine {
			t.Fatalf("chunk %d, last %v, %x: %q, %v", chunk, last, ciphertext, out, err)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	const size = 512 << 10 // the protocol's chunk
	box := mustBox(b, 6, "bench")
	plaintext := make([]byte, size)
	dst := make([]byte, 0, size+Overhead)
	b.SetBytes(size)
	for b.Loop() {
		box.Seal(dst, 0, false, plaintext)
	}
}

func BenchmarkInitiateAccept(b *testing.B) {
	for _, suite := range suites {
		key := mustKey(b, suite, 9)
		b.Run(suite.String(), func(b *testing.B) {
			for b.Loop() {
				enc, _, err := Initiate(suite, key.Public(), nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Accept(key, enc, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
