package coin

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestCoins: each record is drawn at the rate, independently of its neighbour. The counts
// are binomial; with 5 standard deviations each way on 3 rates x 40 records, and as many
// pairs, the false-alarm rate is below 2e-4, and the seed is fixed.
func TestCoins(t *testing.T) {
	const n, tosses = 40, 20000
	for _, rate := range []float64{0.02, 0.3, 1} {
		c, r := New(rate), rand.NewChaCha8([32]byte{7})
		var counts, pairs [n]float64
		for range tosses {
			drawn, err := c.Draw(n, r)
			if err != nil {
				t.Fatal(err)
			}
			var in [n + 1]bool
			for _, i := range drawn {
				in[i] = true
				counts[i]++
			}
			for i := range n - 1 {
				if in[i] && in[i+1] {
					pairs[i]++
				}
			}
		}
		for i := range n {
			check := func(what string, got, p float64) {
				if sd := math.Sqrt(tosses * p * (1 - p)); math.Abs(got-tosses*p) > 5*sd {
					t.Errorf("rate %v, record %d: %s %v times of %d, want %.0f +- %.0f", rate, i, what, got,
						tosses, tosses*p, sd)
				}
			}
			check("drawn", counts[i], rate)
			if i < n-1 {
				check("drawn with the next", pairs[i], rate*rate)
			}
		}
	}
}

// TestCoinIsExact: the threshold over 2^64 is the rate as a fraction, never above it.
func TestCoinIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0x1p-40, 0.999999).Draw(t, "rate")
		got := new(big.Rat).SetFrac(new(big.Int).SetUint64(New(rate).threshold),
			new(big.Int).Lsh(big.NewInt(1), 64))
		want := new(big.Rat).SetFloat64(rate)
		if got.Cmp(want) > 0 || (rate >= 0x1p-12 && got.Cmp(want) != 0) {
			t.Fatalf("rate %v is taken as %v", want, got)
		}
	})
}
