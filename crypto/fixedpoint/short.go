package fixedpoint

import (
	"encoding/binary"
	"math/bits"
)

// Most updates take two bytes a coordinate, or three. Such coordinates are packed and read
// several at a time, in one pass that does all there is to do with them while they are in
// registers. On processors that have them the passes use vector instructions
// (docs/decisions/0012); the build tag purego leaves them out. Both give the same bytes,
// sums and refusals, and neither has a branch or an address that depends on a
// coordinate, but for whether all of them are narrow.

// Bits is how many bits two's complement takes for the widest; 0 for zeros only. The
// highest bit of x that differs from the one below it is the sign's lowest.
func Bits(v []int64) int {
	n, turned := turns(v)
	for _, x := range v[n:] {
		turned |= uint64(x ^ x<<1)
	}
	return bits.Len64(turned)
}

// mostShort is how many coordinates there may be for the sum of their squares, at most
// 2^46 each, to be below 2^64.
const mostShort = 1 << 17

// PackShort writes coordinates to the front of dst, in two's complement of width bytes each,
// little endian, and returns the sum of their squares. It is not ok, and what it wrote and
// returns is of no meaning, when a coordinate takes more bytes, for any width but 2 and 3,
// for more than 2^17 coordinates, and when dst hasn't room for 8 bytes behind the last one,
// of which it may overwrite some.
func PackShort(dst []byte, v []int64, width int) (squares uint64, ok bool) {
	if len(v) > mostShort || len(dst) < len(v)*width+8 {
		return 0, false
	}
	switch width {
	case 2:
		return packWith(packTwos, dst, v, 2)
	case 3:
		return packWith(packThrees, dst, v, 3)
	}
	return 0, false
}

// packer packs coordinates from the front of v, as many as it likes, of which dst has all,
// and 8 bytes more. moved is the OR of all x + 2^(8 width - 1): below 2^(8 width) as long as
// each of them is.
type packer func(dst []byte, v []int64) (n int, squares, moved uint64)

// packWith lets fast pack what it packs, and the rest one by one.
func packWith(fast packer, dst []byte, v []int64, width int) (squares uint64, ok bool) {
	n, squares, moved := fast(dst, v)
	half := uint64(1) << (8*width - 1)
	for dst = dst[n*width:]; n < len(v); n++ {
		x := uint64(v[n])
		moved |= x + half
		squares += x * x
		binary.LittleEndian.PutUint64(dst, x) // what is above width is overwritten by the next one
		dst = dst[width:]
	}
	return squares, moved < 2*half
}

// AddShort sets the front of dst to samples with coordinates that PackShort wrote, and
// returns how many it took: as many as it likes of those that all three have, none of any
// width but 2 and 3. dst may be samples.
func AddShort(dst, samples []int64, words []byte, width int) int {
	n := min(len(dst), len(samples))
	switch width {
	case 2:
		return addTwos(dst[:n], samples[:n], words)
	case 3:
		return addThrees(dst[:n], samples[:n], words)
	}
	return 0
}

// What follows is the fast functions' fallback.

func turnsGo(v []int64) (n int, turned uint64) {
	var more uint64
	for ; n <= len(v)-4; n += 4 {
		x := v[n : n+4 : n+4]
		turned |= uint64(x[0]^x[0]<<1) | uint64(x[1]^x[1]<<1)
		more |= uint64(x[2]^x[2]<<1) | uint64(x[3]^x[3]<<1)
	}
	return n, turned | more
}

func packTwosGo(dst []byte, v []int64) (n int, squares, moved uint64) {
	const half = 1 << 15
	for ; len(v)-n >= 4 && len(dst) >= 8; dst = dst[8:] {
		x := (*[4]int64)(v[n:])
		a, b, c, d := uint64(x[0]), uint64(x[1]), uint64(x[2]), uint64(x[3])
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		squares += a*a + b*b + c*c + d*d
		binary.LittleEndian.PutUint64(dst, uint64(uint16(a))|uint64(uint16(b))<<16|uint64(uint16(c))<<32|d<<48)
		n += 4
	}
	return n, squares, moved
}

func packThreesGo(dst []byte, v []int64) (n int, squares, moved uint64) {
	const half, low = 1 << 23, 1<<24 - 1
	for ; len(v)-n >= 8 && len(dst) >= 24; dst = dst[24:] {
		x, to := (*[8]int64)(v[n:]), (*[24]byte)(dst)
		a, b, c, d := uint64(x[0]), uint64(x[1]), uint64(x[2]), uint64(x[3])
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		squares += a*a + b*b + c*c + d*d
		binary.LittleEndian.PutUint64(to[:], a&low|b&low<<24|c<<48)
		third := c&low>>16 | d&low<<8
		a, b, c, d = uint64(x[4]), uint64(x[5]), uint64(x[6]), uint64(x[7])
		moved |= (a + half) | (b + half) | (c + half) | (d + half)
		squares += a*a + b*b + c*c + d*d
		binary.LittleEndian.PutUint64(to[8:], third|a&low<<32|b<<56)
		binary.LittleEndian.PutUint64(to[16:], b&low>>8|c&low<<16|d<<40)
		n += 8
	}
	return n, squares, moved
}

func addTwosGo(dst, samples []int64, words []byte) (n int) {
	for ; len(dst)-n >= 4 && len(samples)-n >= 4 && len(words) >= 8; words = words[8:] {
		to, s, w := (*[4]int64)(dst[n:]), (*[4]int64)(samples[n:]), binary.LittleEndian.Uint64(words)
		to[0] = s[0] + int64(int16(w))
		to[1] = s[1] + int64(int16(w>>16))
		to[2] = s[2] + int64(int16(w>>32))
		to[3] = s[3] + int64(w)>>48
		n += 4
	}
	return n
}

func addThreesGo(dst, samples []int64, words []byte) (n int) {
	for ; len(dst)-n >= 4 && len(samples)-n >= 4 && len(words) >= 13; words = words[12:] {
		to, s, w := (*[4]int64)(dst[n:]), (*[4]int64)(samples[n:]), (*[13]byte)(words)
		to[0] = s[0] + int64(int32(binary.LittleEndian.Uint32(w[0:])<<8)>>8)
		to[1] = s[1] + int64(int32(binary.LittleEndian.Uint32(w[3:])<<8)>>8)
		to[2] = s[2] + int64(int32(binary.LittleEndian.Uint32(w[6:])<<8)>>8)
		to[3] = s[3] + int64(int32(binary.LittleEndian.Uint32(w[9:])<<8)>>8)
		n += 4
	}
	return n
}
