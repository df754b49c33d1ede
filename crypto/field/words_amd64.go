//go:build amd64 && !purego

package field

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The functions of words_amd64.s combine so many blocks of words, at least one, up to the
// first block with a word that is no element, and return how many blocks they took.

//go:noescape
func setBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func addBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func subBlocksAVX2(v *Element, src *byte, blocks int) int

//go:noescape
func addBlocksAVX512(v *Element, src *byte, blocks int) int

//go:noescape
func subBlocksAVX512(v *Element, src *byte, blocks int) int

// setSignedBlocksAVX2 does the same with signed integers in the range of an element.
//
//go:noescape
func setSignedBlocksAVX2(v *Element, x *int64, blocks int) int

//go:noescape
func canonicalBlocksAVX2(src *byte, blocks int) int

// accelerated: AVX2 is there, and the operating system keeps its registers.
func accelerated() bool { return cpu.X86.HasAVX2 }

// masked: AVX-512 is there as well, with its instructions on shorter vectors.
func masked() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL }

// addWords and subWords choose between the two forms.

func addWords(v *Element, src *byte, blocks int) int {
	if masked() {
		return addBlocksAVX512(v, src, blocks)
	}
	return addBlocksAVX2(v, src, blocks)
}

func subWords(v *Element, src *byte, blocks int) int {
	if masked() {
		return subBlocksAVX512(v, src, blocks)
	}
	return subBlocksAVX2(v, src, blocks)
}

func setBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * setBlocksAVX2(&v[0], &src[0], n)
	}
	return setFours(v, src)
}

func addBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * addWords(&v[0], &src[0], n)
	}
	return addFours(v, src)
}

func subBlocks(v Vector, src []byte) int {
	if n := min(len(v), len(src)/ElementSize) / block; n > 0 && accelerated() {
		return block * subWords(&v[0], &src[0], n)
	}
	return subFours(v, src)
}

// addElements and subElements do the same with elements, which the processor keeps in
// memory as words that are little endian. They return how many they took.

func addElements(v, w Vector) int {
	if n := min(len(v), len(w)) / block; n > 0 && accelerated() {
		return block * addWords(&v[0], (*byte)(unsafe.Pointer(&w[0])), n)
	}
	return 0
}

func subElements(v, w Vector) int {
	if n := min(len(v), len(w)) / block; n > 0 && accelerated() {
		return block * subWords(&v[0], (*byte)(unsafe.Pointer(&w[0])), n)
	}
	return 0
}

// canonicalBlocks returns how many words from the front of src, whole blocks of them,
// are known to be elements.
func canonicalBlocks(src []byte) int {
	if n := len(src) / (block * ElementSize); n > 0 && accelerated() {
		return block * canonicalBlocksAVX2(&src[0], n)
	}
	return 0
}

// putWords writes v to dst, which is as long as its encoding: the words as they stand
// in memory.
func putWords(dst []byte, v Vector) {
	if len(v) > 0 {
		copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*ElementSize))
	}
}

// setSignedBlocks sets the front of v to whole blocks of x, up to the first block with
// an integer that stands for no element, and returns how many it took.
func setSignedBlocks(v Vector, x []int64) int {
	if n := min(len(v), len(x)) / block; n > 0 && accelerated() {
		return block * setSignedBlocksAVX2(&v[0], &x[0], n)
	}
	return 0
}
