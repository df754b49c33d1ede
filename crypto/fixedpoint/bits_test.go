package fixedpoint

import "testing"

// TestBits puts one integer of each width at each index of vectors of other small integers, at
// both ends of the range of that width.
func TestBits(t *testing.T) {
	for length := range 38 {
		if Bits(make([]int64, length)) != 0 {
			t.Fatalf("%d zeros have bits", length)
		}
		for index := range length {
			for n := 1; n <= 64; n++ {
				most := int64(uint64(1)<<(n-1) - 1)
				for _, x := range []int64{most, -most - 1} {
					v := make([]int64, length)
					if v[length-1-index] = -1; n > 1 {
						v[length/2] = 1
					}
					if v[index] = x; n == 1 && x == 0 && length-1-index == index {
						continue // only zeros
					}
					if got := Bits(v); got != n {
						t.Fatalf("%d at index %d of %d has %d bits, want %d", x, index, length, got, n)
					}
				}
			}
		}
	}
}
