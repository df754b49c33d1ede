//go:build !amd64 || purego

package field

import "encoding/binary"

// accelerated reports false: this build has no vector instructions.
func accelerated() bool { return false }

func setBlocks(v Vector, src []byte) int { return setFours(v, src) }

func addBlocks(v Vector, src []byte) int { return addFours(v, src) }

func subBlocks(v Vector, src []byte) int { return subFours(v, src) }

func addElements(_, _ Vector) int { return 0 }

func subElements(_, _ Vector) int { return 0 }

func canonicalBlocks(_ []byte) int { return 0 }

// putWords writes the words of v to dst, which has the length of the encoding.
func putWords(dst []byte, v Vector) {
	for i, e := range v {
		binary.LittleEndian.PutUint64(dst[i*ElementSize:], uint64(e))
	}
}

func setSignedBlocks(_ Vector, _ []int64) int { return 0 }
