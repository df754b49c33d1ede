//go:build amd64 && !purego

package field

// Forms of the functions on words that the processor at hand can run; which of them
// the package takes doesn't matter to the tests.

func otherAdds() []blocks { return runnable(addBlocksAVX2, addBlocksAVX512) }

func otherSubs() []blocks { return runnable(subBlocksAVX2, subBlocksAVX512) }

func runnable(avx2, avx512 func(v *Element, src *byte, blocks int) int) (all []blocks) {
	wrap := func(f func(v *Element, src *byte, blocks int) int) blocks {
		return func(v Vector, src []byte) int {
			if n := min(len(v), len(src)/ElementSize) / block; n > 0 {
				return block * f(&v[0], &src[0], n)
			}
			return 0
		}
	}
	if accelerated() {
		all = append(all, wrap(avx2))
	}
	if masked() {
		all = append(all, wrap(avx512))
	}
	return all
}
