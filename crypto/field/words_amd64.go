//go:build amd64 && !purego

package field

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The functions of words_amd64.s combine at most the given number of blocks of words, at least
// one. They stop before the first block that contains a word that is not an element, and return
// the number of blocks that they combined.

//go:noescape
func setBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func addBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func subBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func canonicalBlocksAVX2(src *byte, blocks int) int

// setSignedBlocksAVX2 stops before the first block that contains an integer that no element
// represents.
//
//go:noescape
func setSignedBlocksAVX2(v *Element, x *int64, blocks int) int

// accelerated reports whether the processor has AVX2 and the operating system saves its registers.
func accelerated() bool { return cpu.X86.HasAVX2 }

func setBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * setBlocksAVX2(&v[0], &src[0], n)
	}
	return setFours(v, src)
}

func addBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * addBlocksAVX2(&v[0], &src[0], n)
	}
	return addFours(v, src)
}

func subBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * subBlocksAVX2(&v[0], &src[0], n)
	}
	return subFours(v, src)
}

// addElements and subElements combine the front of v with elements, which amd64 keeps in
// memory as little-endian words. They return the number of elements that they combined, which
// may be zero.

func addElements(v, w Vector) int {
	if n := min(len(v), len(w)) / block; n > 0 && accelerated() {
		return block * addBlocksAVX2(&v[0], (*byte)(unsafe.Pointer(&w[0])), n)
	}
	return 0
}

func subElements(v, w Vector) int {
	if n := min(len(v), len(w)) / block; n > 0 && accelerated() {
		return block * subBlocksAVX2(&v[0], (*byte)(unsafe.Pointer(&w[0])), n)
	}
	return 0
}

// canonicalBlocks returns how many words at the front of src are known to be elements. The
// number is a multiple of block and may be zero.
func canonicalBlocks(src []byte) int {
	if n := len(src) / (block * ElementSize); n > 0 && accelerated() {
		return block * canonicalBlocksAVX2(&src[0], n)
	}
	return 0
}

// putWords writes the words of v to dst, which has the length of the encoding.
func putWords(dst []byte, v Vector) {
	if len(v) > 0 {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*ElementSize))
	}
}

// setSignedBlocks sets the front of v to whole blocks of x, stops before the first block that
// contains an integer that no element represents, and returns the number of elements set.
func setSignedBlocks(v Vector, x []int64) int {
	if n := min(len(v), len(x)) / block; n > 0 && accelerated() {
		return block * setSignedBlocksAVX2(&v[0], &x[0], n)
	}
	return 0
}
