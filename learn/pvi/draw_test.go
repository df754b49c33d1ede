package pvi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func chacha(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// Poisson: each record's frequency, and each pair's, are the rate and its square,
// within six standard errors (a false alarm in 10^8).
func TestPoissonDraws(t *testing.T) {
	const n, times, rate = 6, 40000, 0.3
	c := Config{Strategy: Optimisation{Sampling: SamplingPoisson, SampleRate: rate}}
	rand := chacha(1)
	var single [n]int
	var pair int
	for range times {
		rows, scale, err := c.draw(n, rand)
		if err != nil || scale != 1/rate {
			t.Fatal(scale, err)
		}
		for _, r := range rows {
			single[r]++
		}
		if slices.Contains(rows, 1) && slices.Contains(rows, 4) {
			pair++
		}
	}
	check := func(got int, p float64) {
		if se := math.Sqrt(times * p * (1 - p)); math.Abs(float64(got)-times*p) > 6*se {
			t.Errorf("%d of %d, want a share of %v", got, times, p)
		}
	}
	for _, got := range single {
		check(got, rate)
	}
	check(pair, rate*rate)
}

// Integers just below and above the threshold decide, and the rate is never exceeded.
func TestPoissonThreshold(t *testing.T) {
	word := func(w uint64) io.Reader {
		b := make([]byte, 8)
		for i := range b {
			b[i] = byte(w >> (8 * i))
		}
		return bytes.NewReader(b)
	}
	for _, c := range []struct {
		rate float64
		w    uint64
		in   bool
	}{{0.5, 1<<63 - 1, true}, {0.5, 1 << 63, false}, {1, math.MaxUint64, true}, {0x1p-32, 1<<32 - 1, true},
		{0x1p-32, 1 << 32, false}} {
		rows, err := poisson(1, c.rate, word(c.w))
		if err != nil || (len(rows) == 1) != c.in {
			t.Errorf("%+v: %v %v", c, rows, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(minRate, 1).Draw(t, "rate")
		exact := new(big.Rat).SetFloat64(rate)
		if share := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(math.Min(math.Ldexp(rate, 64),
			math.MaxUint64))), new(big.Int).Lsh(big.NewInt(1), 64)); rate < 1 && share.Cmp(exact) > 0 {
			t.Fatalf("%v is drawn with %v", rate, share)
		}
	})
}

// Fixed size: always the same number, without repeats, and every subset of 2 of 5 equally
// often, by a chi-squared test with 9 degrees of freedom (above 50 once in 10^7).
func TestFixedDraws(t *testing.T) {
	const times = 30000
	c := Config{Strategy: Optimisation{Sampling: SamplingFixed, SampleRate: 0.5}}
	counts := map[[2]int]int{}
	rand := chacha(2)
	for range times {
		rows, scale, err := c.draw(5, rand)
		if err != nil || len(rows) != 2 || rows[0] == rows[1] || scale != 2.5 {
			t.Fatal(rows, scale, err)
		}
		slices.Sort(rows)
		counts[[2]int(rows)]++
	}
	var chi float64
	for _, n := range counts {
		d := float64(n) - times/10.0
		chi += d * d / (times / 10.0)
	}
	if len(counts) != 10 || chi > 50 {
		t.Errorf("%d subsets, chi-squared %v", len(counts), chi)
	}
}

// checkFixedSize checks that the size is floor(rate n) in exact arithmetic.
func checkFixedSize(t rapid.TB, n int, rate float64) {
	p := new(big.Rat).Mul(new(big.Rat).SetFloat64(rate), new(big.Rat).SetInt64(int64(n)))
	want := new(big.Int).Quo(p.Num(), p.Denom())
	if got := fixedSize(n, rate); int64(got) != want.Int64() {
		t.Fatalf("%d of %d at %v, want %v", got, n, rate, want)
	}
}

// TestFixedSizeIsExact tries all rates k/n for small n and the numbers below them, where the product of
// rate and n is often rounded up, and others at random.
func TestFixedSizeIsExact(t *testing.T) {
	up := 0
	for n := 1; n <= 300; n++ {
		for k := 1; k <= n; k++ {
			at := float64(k) / float64(n)
			for _, rate := range []float64{at, math.Nextafter(at, 0)} {
				checkFixedSize(t, n, rate)
				if fixedSize(n, rate) < int(float64(n)*rate) {
					up++
				}
			}
		}
	}
	if up < 1000 {
		t.Errorf("only %d products were rounded up", up)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkFixedSize(t, rapid.IntRange(0, 1<<30).Draw(t, "n"), rapid.Float64Range(minRate, 1).Draw(t, "rate"))
	})
}

func TestBelow(t *testing.T) {
	// 2^64 = 3 * 6148914691236517205 + 1: a word of 0 is rejected, the next one counts.
	w := append(make([]byte, 8), bytes.Repeat([]byte{0xff}, 8)...)
	if got, err := below(3, bytes.NewReader(w)); got != 2 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := below(3, bytes.NewReader(make([]byte, 8<<10))); !errors.Is(err, ErrNoise) {
		t.Errorf("a source of zeros: %v", err)
	}
	if _, err := below(3, bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("an empty source: %v", err)
	}
}

// Without sampling it is all records, and no randomness is read.
func TestDrawAll(t *testing.T) {
	rows, scale, err := Config{}.draw(4, nil)
	if err != nil || scale != 1 || !slices.Equal(rows, []int{0, 1, 2, 3}) {
		t.Error(rows, scale, err)
	}
}
