package field

import "encoding/binary"

// The three methods below combine the front of a vector with the 8-byte little-endian words of
// src, in order. They stop at the end of the shorter operand or at the first word that is not an
// element (p or more), and return the number of words that they combined. The caller decides how
// to handle a word that is not an element; a keystream skips it.
//
// They use vector instructions where the processor has them (decision 0012), unless the build
// tag purego is set. The results are the same, and no branch or address depends on an element.

// SetWords sets the front of v to the words of src.
func (v Vector) SetWords(src []byte) int { return combine(v, src, setBlocks, setOne) }

// AddWords adds the words of src to the front of v.
func (v Vector) AddWords(src []byte) int { return combine(v, src, addBlocks, Add) }

// SubWords subtracts the words of src from the front of v.
func (v Vector) SubWords(src []byte) int { return combine(v, src, subBlocks, Sub) }

func setOne(_, next Element) Element { return next }

// block is the number of words that the fast functions combine at a time.
const block = 16

// blocks is a fast function. It combines whole blocks of words, stops before the first block
// that contains a word that is not an element, and returns the number of words combined, which
// may always be zero.
type blocks func(v Vector, src []byte) int

// combine combines words with fast, and the remaining words one by one.
func combine(v Vector, src []byte, fast blocks, one func(have, next Element) Element) int {
	words := min(len(v), len(src)/ElementSize)
	v, src = v[:words], src[:words*ElementSize]
	n := fast(v, src)
	for rest := src[n*ElementSize:]; len(rest) > 0; rest = rest[ElementSize:] {
		e, ok := New(binary.LittleEndian.Uint64(rest))
		if !ok {
			break
		}
		v[n] = one(v[n], e)
		n++
	}
	return n
}

// The functions below are the portable forms of the fast functions. They process four words at
// a time, which is more than twice as fast as one word at a time.

func setFours(v Vector, src []byte) (n int) {
	for len(v) >= 4 && len(src) >= 4*ElementSize {
		out := (*[4]Element)(v)
		a, b, c, d, ok := four((*[4 * ElementSize]byte)(src))
		if !ok {
			break
		}
		out[0], out[1], out[2], out[3] = a, b, c, d
		v, src = v[4:], src[4*ElementSize:]
		n += 4
	}
	return n
}

func addFours(v Vector, src []byte) (n int) {
	for len(v) >= 4 && len(src) >= 4*ElementSize {
		out := (*[4]Element)(v)
		a, b, c, d, ok := four((*[4 * ElementSize]byte)(src))
		if !ok {
			break
		}
		out[0], out[1] = Add(out[0], a), Add(out[1], b)
		out[2], out[3] = Add(out[2], c), Add(out[3], d)
		v, src = v[4:], src[4*ElementSize:]
		n += 4
	}
	return n
}

func subFours(v Vector, src []byte) (n int) {
	for len(v) >= 4 && len(src) >= 4*ElementSize {
		out := (*[4]Element)(v)
		a, b, c, d, ok := four((*[4 * ElementSize]byte)(src))
		if !ok {
			break
		}
		out[0], out[1] = Sub(out[0], a), Sub(out[1], b)
		out[2], out[3] = Sub(out[2], c), Sub(out[3], d)
		v, src = v[4:], src[4*ElementSize:]
		n += 4
	}
	return n
}

// four reads four words and reports whether all of them are elements.
func four(in *[4 * ElementSize]byte) (a, b, c, d Element, ok bool) {
	w, x := binary.LittleEndian.Uint64(in[0:]), binary.LittleEndian.Uint64(in[8:])
	y, z := binary.LittleEndian.Uint64(in[16:]), binary.LittleEndian.Uint64(in[24:])
	ok = w < Modulus && x < Modulus && y < Modulus && z < Modulus
	return Element(w), Element(x), Element(y), Element(z), ok
}
