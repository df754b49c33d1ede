package fixedpoint

import "encoding/binary"

// maxShort is the number of coordinates for which the sum of their squares, at most 2^46 each, is
// below 2^64.
const maxShort = 1 << 17

// PackShort writes the coordinates to the front of dst in two's complement, little endian, width
// bytes each, and returns the sum of their squares. That takes one pass, which most updates need.
//
// It reports false, with dst and the sum undefined, if a coordinate needs more bytes, if width is
// not 1, 2 or 3, if there are more than 2^17 coordinates, or if dst does not have 8 bytes more than
// the coordinates take, some of which it may overwrite.
func PackShort(dst []byte, v []int64, width int) (squares uint64, ok bool) {
	if width < 1 || width > 3 || len(v) > maxShort || len(dst) < len(v)*width+8 {
		return 0, false
	}
	half := uint64(1) << (8*width - 1)
	var moved uint64 // the OR of all x + half, each below 2 half if x fits
	for _, x := range v {
		u := uint64(x)
		moved |= u + half
		squares += u * u
		binary.LittleEndian.PutUint64(dst, u) // the next coordinate overwrites the upper bytes
		dst = dst[width:]
	}
	return squares, moved < 2*half
}

// AddShort sets the front of dst to the sum of samples and coordinates that [PackShort] wrote with
// width 2 or 3, four at a time, and returns the number of coordinates that it set. It leaves the
// last few, and all coordinates of any other width, to the caller. dst may be samples.
func AddShort(dst, samples []int64, words []byte, width int) (n int) {
	switch width {
	case 2:
		for ; len(dst)-n >= 4 && len(samples)-n >= 4 && len(words) >= 8; words = words[8:] {
			to, s := (*[4]int64)(dst[n:]), (*[4]int64)(samples[n:])
			w := binary.LittleEndian.Uint64(words)
			to[0] = s[0] + int64(int16(w))
			to[1] = s[1] + int64(int16(w>>16))
			to[2] = s[2] + int64(int16(w>>32))
			to[3] = s[3] + int64(w)>>48
			n += 4
		}
	case 3:
		for ; len(dst)-n >= 4 && len(samples)-n >= 4 && len(words) >= 13; words = words[12:] {
			to, s, w := (*[4]int64)(dst[n:]), (*[4]int64)(samples[n:]), (*[13]byte)(words)
			to[0] = s[0] + int64(int32(binary.LittleEndian.Uint32(w[0:])<<8)>>8)
			to[1] = s[1] + int64(int32(binary.LittleEndian.Uint32(w[3:])<<8)>>8)
			to[2] = s[2] + int64(int32(binary.LittleEndian.Uint32(w[6:])<<8)>>8)
			to[3] = s[3] + int64(int32(binary.LittleEndian.Uint32(w[9:])<<8)>>8)
			n += 4
		}
	}
	return n
}
