package field

import "encoding/binary"

// The three functions below take words of eight bytes, little endian, as a keystream
// has them, and combine them with the front of a vector, in order, up to the first
// word that is no element (p or more). They return how many words they took: all that
// src holds whole and v has a place for, or those before the first that is no element.
// Whoever calls decides what such a word means: a keystream skips it.
//
// On processors that have them they use vector instructions (docs/decisions/0012);
// the build tag purego leaves them out. Both take the same words and give the same
// sums, and neither has a branch or an address that depends on an element.

// SetWords sets the front of v to the words of src.
func (v Vector) SetWords(src []byte) int { return combine(v, src, setBlocks, setOne) }

// AddWords adds the words of src to the front of v.
func (v Vector) AddWords(src []byte) int { return combine(v, src, addBlocks, Add) }

// SubWords subtracts the words of src from the front of v.
func (v Vector) SubWords(src []byte) int { return combine(v, src, subBlocks, Sub) }

func setOne(_, next Element) Element { return next }

// block is how many words the fast functions take or leave together.
const block = 16

// blocks is a fast function: it combines whole blocks of words, up to the first block
// with a word that is no element, which it leaves alone, and returns how many words it
// took. Taking none is always right.
type blocks func(v Vector, src []byte) int

// combine lets fast take what it takes, and the rest one by one.
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

// What follows is the fast functions' fallback. The four words of a step are compared
// and combined side by side, which is more than twice as fast as one after the other.

func setFours(v Vector, src []byte) (n int) {
	for len(v) >= 4 && len(src) >= 4*ElementSize {
		out := (*[4]Element)(v)
		a, b, c, d, ok := four((*[4 * ElementSize]byte)(src))
		if !ok {
			break
		}
		out[0], out[1], out[2], out[3] = a, b, c, d
		v, src, n = v[4:], src[4*ElementSize:], n+4
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
		v, src, n = v[4:], src[4*ElementSize:], n+4
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
		v, src, n = v[4:], src[4*ElementSize:], n+4
	}
	return n
}

// four reads four words and tells whether all of them are elements.
func four(in *[4 * ElementSize]byte) (a, b, c, d Element, ok bool) {
	w, x := binary.LittleEndian.Uint64(in[0:]), binary.LittleEndian.Uint64(in[8:])
	y, z := binary.LittleEndian.Uint64(in[16:]), binary.LittleEndian.Uint64(in[24:])
	ok = w < Modulus && x < Modulus && y < Modulus && z < Modulus
	return Element(w), Element(x), Element(y), Element(z), ok
}
