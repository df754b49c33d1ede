package multibuffer

import "math/bits"

// compressGo is FIPS 180-4, section 6.4.2, lane by lane: what the processor's form is held to.
func compressGo(state *[8][Width]uint64, block *[16][Width]uint64) {
	for lane := range Width {
		var w [80]uint64
		for t := range w {
			if t < 16 {
				w[t] = block[t][lane]
				continue
			}
			x, y := w[t-15], w[t-2]
			w[t] = w[t-16] + w[t-7] + (rotr(x, 1) ^ rotr(x, 8) ^ x>>7) + (rotr(y, 19) ^ rotr(y, 61) ^ y>>6)
		}
		var v [8]uint64
		for i := range v {
			v[i] = state[i][lane]
		}
		for t, k := range rounds {
			a, b, c, e, f, g := v[0], v[1], v[2], v[4], v[5], v[6]
			t1 := v[7] + (rotr(e, 14) ^ rotr(e, 18) ^ rotr(e, 41)) + (e&f ^ ^e&g) + k + w[t]
			t2 := (rotr(a, 28) ^ rotr(a, 34) ^ rotr(a, 39)) + (a&b ^ a&c ^ b&c)
			v = [8]uint64{t1 + t2, a, b, c, v[3] + t1, e, f, g}
		}
		for i := range v {
			state[i][lane] += v[i]
		}
	}
}

func rotr(x uint64, n int) uint64 { return bits.RotateLeft64(x, -n) }
