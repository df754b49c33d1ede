//go:build amd64 && !purego

package xof

import (
	"encoding/binary"
	"math/bits"

	"golang.org/x/sys/cpu"

	"choir/crypto/field"
)

// The functions of keystream_amd64.s combine groups of 16 elements, at least one, with
// a chunk's keystream from the given block of 16 bytes on, up to the first group with a
// word that is no element, and return how many groups they took.

//go:noescape
func addKeystreamAVX2(v *field.Element, key *roundKeys, chunk, block uint64, groups int) int

//go:noescape
func subKeystreamAVX2(v *field.Element, key *roundKeys, chunk, block uint64, groups int) int

// subWord is SubWord of FIPS 197, section 5.2, without a table.
func subWord(w uint32) uint32

// accelerated: the processor has AES and AVX2, and the operating system keeps the
// registers.
func accelerated() bool { return cpu.X86.HasAVX2 && cpu.X86.HasAES }

// expandKey is AES-256's key expansion (FIPS 197, section 5.2); nil where the
// processor lacks what the functions above need. Words are little endian, as the
// processor reads the bytes.
func expandKey(key *[KeySize]byte) *roundKeys {
	if !accelerated() {
		return nil
	}
	w := new(roundKeys)
	for i := range 8 {
		w[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	for i, rcon := 8, uint32(1); i < len(w); i++ {
		t := w[i-1]
		switch i % 8 {
		case 0:
			t = bits.RotateLeft32(subWord(t), -8) ^ rcon
			rcon <<= 1
		case 4:
			t = subWord(t)
		}
		w[i] = w[i-8] ^ t
	}
	return w
}
