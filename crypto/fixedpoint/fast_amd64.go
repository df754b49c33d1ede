//go:build amd64 && !purego

package fixedpoint

import (
	"choir/crypto/field"

	"golang.org/x/sys/cpu"
)

// The functions of fast_amd64.s take so many blocks of coordinates, at least one.

//go:noescape
func turnsAVX2(v *int64, blocks int) (turned uint64)

//go:noescape
func packTwosAVX2(dst *byte, v *int64, blocks int) (squares, moved uint64)

//go:noescape
func packThreesAVX2(dst *byte, v *int64, blocks int) (squares, moved uint64)

//go:noescape
func addTwosAVX2(dst, samples *int64, words *byte, blocks int)

//go:noescape
func addThreesAVX2(dst, samples *int64, words *byte, blocks int)

//go:noescape
func pairsAVX2(dst *field.Element, v *int64, blocks int) (moved uint64)

//go:noescape
func roundSquaresAVX2(dst *int64, x *float64, scale float64, blocks int) (squares, moved uint64)

// block is how many coordinates they take together.
const block = 16

// accelerated: AVX2 is there, and the operating system keeps its registers.
func accelerated() bool { return cpu.X86.HasAVX2 }

// turns is the OR of all x^2x of coordinates from the front of v, as many as it likes.
func turns(v []int64) (n int, turned uint64) {
	blocks := len(v) / block
	if blocks == 0 || !accelerated() {
		return turnsGo(v)
	}
	return blocks * block, turnsAVX2(&v[0], blocks)
}

func packTwos(dst []byte, v []int64) (n int, squares, moved uint64) {
	blocks := min(len(v), len(dst)/2) / block
	if blocks == 0 || !accelerated() {
		return packTwosGo(dst, v)
	}
	squares, moved = packTwosAVX2(&dst[0], &v[0], blocks)
	return blocks * block, squares, moved
}

// packThrees: the last block writes two bytes behind itself.
func packThrees(dst []byte, v []int64) (n int, squares, moved uint64) {
	blocks := min(len(v), max(0, len(dst)-2)/3) / block
	if blocks == 0 || !accelerated() {
		return packThreesGo(dst, v)
	}
	squares, moved = packThreesAVX2(&dst[0], &v[0], blocks)
	return blocks * block, squares, moved
}

func addTwos(dst, samples []int64, words []byte) int {
	blocks := min(len(dst), len(samples), len(words)/2) / block
	if blocks == 0 || !accelerated() {
		return addTwosGo(dst, samples, words)
	}
	addTwosAVX2(&dst[0], &samples[0], &words[0], blocks)
	return blocks * block
}

// addThrees: the last block reads four bytes behind itself.
func addThrees(dst, samples []int64, words []byte) int {
	blocks := min(len(dst), len(samples), max(0, len(words)-4)/3) / block
	if blocks == 0 || !accelerated() {
		return addThreesGo(dst, samples, words)
	}
	addThreesAVX2(&dst[0], &samples[0], &words[0], blocks)
	return blocks * block
}

func pairs(dst field.Vector, v []int64) (n int, moved uint64) {
	blocks := min(2*len(dst), len(v)) / block
	if blocks == 0 || !accelerated() {
		return pairsGo(dst, v)
	}
	return blocks * block / 2, pairsAVX2(&dst[0], &v[0], blocks)
}

func roundSquares(dst []int64, x []float64, scale float64) (n int, squares, moved uint64) {
	blocks := min(len(dst), len(x)) / block
	if blocks == 0 || !accelerated() {
		return roundSquaresGo(dst, x, scale)
	}
	squares, moved = roundSquaresAVX2(&dst[0], &x[0], scale, blocks)
	return blocks * block, squares, moved
}
