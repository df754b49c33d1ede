//go:build amd64 && !purego

package multibuffer

import "golang.org/x/sys/cpu"

//go:noescape
func compressAVX512(state *[8][Width]uint64, block *[16][Width]uint64, constants *[80]uint64)

// Fast reports whether messages are hashed side by side: AVX-512F is there, and the
// operating system keeps its registers.
func Fast() bool { return cpu.X86.HasAVX512F }

// compress takes one block of each message into the state.
func compress(state *[8][Width]uint64, block *[16][Width]uint64) {
	compressAVX512(state, block, &rounds)
}
