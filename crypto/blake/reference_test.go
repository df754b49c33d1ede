package blake

import (
	"encoding/binary"
	"math/bits"
)

// The functions below are BLAKE3 written down from its specification (O'Connor,
// Aumasson, Neves, Wilcox-O'Hearn, 2020, section 2), one block at a time, with key
// derivation as the only mode: an independent value for everything in this package.

var iv = [8]uint32{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

const (
	chunkStart, chunkEnd, parent, rootFlag = 1, 2, 4, 8
	contextMode, materialMode              = 32, 64
)

func compress(cv [8]uint32, block [64]byte, counter uint64, size, flags uint32) (out [8]uint32) {
	var m [16]uint32
	for i := range m {
		m[i] = binary.LittleEndian.Uint32(block[4*i:])
	}
	v := [16]uint32{cv[0], cv[1], cv[2], cv[3], cv[4], cv[5], cv[6], cv[7], iv[0], iv[1], iv[2], iv[3],
		uint32(counter), uint32(counter >> 32), size, flags}
	g := func(a, b, c, d int, x, y uint32) {
		v[a] += v[b] + x
		v[d] = bits.RotateLeft32(v[d]^v[a], -16)
		v[c] += v[d]
		v[b] = bits.RotateLeft32(v[b]^v[c], -12)
		v[a] += v[b] + y
		v[d] = bits.RotateLeft32(v[d]^v[a], -8)
		v[c] += v[d]
		v[b] = bits.RotateLeft32(v[b]^v[c], -7)
	}
	for range 7 {
		for i := range 4 {
			g(i, 4+i, 8+i, 12+i, m[2*i], m[2*i+1])
		}
		for i := range 4 {
			g(i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4, m[8+2*i], m[9+2*i])
		}
		p := m
		for i, from := range []int{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8} {
			m[i] = p[from]
		}
	}
	for i := range out {
		out[i] = v[i] ^ v[8+i]
	}
	return out
}

// node is the chaining value of some input whose first chunk has the given number,
// with more flags at its last compression.
func node(key [8]uint32, in []byte, first uint64, mode, more uint32) [8]uint32 {
	if len(in) > 1024 {
		left := 1024
		for 2*left < len(in) {
			left *= 2
		}
		var block [64]byte
		for i, half := range [][8]uint32{node(key, in[:left], first, mode, 0),
			node(key, in[left:], first+uint64(left/1024), mode, 0)} {
			for j, w := range half {
				binary.LittleEndian.PutUint32(block[32*i+4*j:], w)
			}
		}
		return compress(key, block, 0, 64, parent|mode|more)
	}
	cv, flags := key, uint32(chunkStart)
	for len(in) > 64 {
		cv, in, flags = compress(cv, [64]byte(in), first, 64, flags|mode), in[64:], 0
	}
	var block [64]byte
	size := copy(block[:], in)
	return compress(cv, block, first, uint32(size), flags|chunkEnd|mode|more)
}

// reference is derive_key with 32 bytes of output.
func reference(context string, material []byte) (d [size]byte) {
	key := node(iv, []byte(context), 0, contextMode, rootFlag)
	for i, w := range node(key, material, 0, materialMode, rootFlag) {
		binary.LittleEndian.PutUint32(d[4*i:], w)
	}
	return d
}
