//go:build !amd64 || purego

package fixedpoint

import "choir/crypto/field"

// accelerated: this build has no vector instructions.
func accelerated() bool { return false }

func turns(v []int64) (n int, turned uint64) { return turnsGo(v) }

func packTwos(dst []byte, v []int64) (n int, squares, moved uint64) { return packTwosGo(dst, v) }

func packThrees(dst []byte, v []int64) (n int, squares, moved uint64) { return packThreesGo(dst, v) }

func addTwos(dst, samples []int64, words []byte) int { return addTwosGo(dst, samples, words) }

func addThrees(dst, samples []int64, words []byte) int { return addThreesGo(dst, samples, words) }

func pairs(dst field.Vector, v []int64) (n int, moved uint64) { return pairsGo(dst, v) }

func roundSquares(dst []int64, x []float64, scale float64) (n int, squares, moved uint64) {
	return roundSquaresGo(dst, x, scale)
}
