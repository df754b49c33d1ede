package prf

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstTheStandardLibrary at lengths around blocks and around the room on the
// stack.
func TestAgainstTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [Size]byte(rapid.SliceOfN(rapid.Byte(), Size, Size).Draw(t, "key"))
		n := rapid.SampledFrom([]int{0, 1, 54, 55, 56, 63, 64, 65, 127, 128, room - 66, room - 65, room - 64, room - 63, 3000}).Draw(t, "n")
		message := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "message")
		at := rapid.IntRange(0, n).Draw(t, "at")
		mac := hmac.New(sha256.New, key[:])
		mac.Write(message)
		if got := sum(&key, [][]byte{message[:at], nil, message[at:]}, nil); !bytes.Equal(got[:], mac.Sum(nil)) {
			t.Fatalf("HMAC of %d bytes differs", n)
		}
		expanded, err := hkdf.Expand(sha256.New, key[:], string(message), Size)
		if err != nil {
			t.Fatal(err)
		}
		if got := Expand(&key, message[:at], message[at:]); !bytes.Equal(got[:], expanded) {
			t.Fatalf("HKDF with %d bytes of info differs", n)
		}
	})
}

// TestRFC4231 is its test case 1 with the key filled up to 32 bytes by zeros, which
// HMAC does itself.
func TestRFC4231(t *testing.T) {
	var key [Size]byte
	copy(key[:], bytes.Repeat([]byte{0x0b}, 20))
	want := []byte{0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
		0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7}
	if got := sum(&key, [][]byte{[]byte("Hi There")}, nil); !bytes.Equal(got[:], want) {
		t.Errorf("%x", got)
	}
}

func TestNoGarbage(t *testing.T) {
	key, info := [Size]byte{1}, make([]byte, 49)
	if n := testing.AllocsPerRun(100, func() { Expand(&key, info, info) }); n > 0 {
		t.Errorf("%v allocations for a key", n)
	}
}

func BenchmarkExpand(b *testing.B) {
	key, info := [Size]byte{1}, make([]byte, 90)
	b.ReportAllocs()
	for b.Loop() {
		Expand(&key, info)
	}
}
