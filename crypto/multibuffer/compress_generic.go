//go:build !amd64 || purego

package multibuffer

// Fast reports whether messages are hashed side by side; in this build they aren't.
func Fast() bool { return false }

func compress(state *[8][Width]uint64, block *[16][Width]uint64) { compressGo(state, block) }
