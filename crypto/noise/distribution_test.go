package noise

import (
	"math"
	"slices"
	"testing"
)

// The tests below draw from fixed seeds, so that they pass always or never. Their
// thresholds are such that an exact sampler with a random seed would fail with
// probability below 1e-9 each; about 40 comparisons make it 4e-8 altogether.

// samples is how many are drawn for each variance.
const samples = 100_000

// TestSmallVariancesChiSquare compares counts with the probabilities, computed to
// double precision, of every integer whose expected count is 10 or more; the rest
// is one bin. The statistic has k-1 degrees of freedom.
func TestSmallVariancesChiSquare(t *testing.T) {
	const n = samples
	for i, variance := range []variance{{9, 100}, {1, 4}, {49, 100}, {1, 1}, {2, 1}, {9, 4}, {5, 1}, {100, 1}, {1 << 14, 1}} {
		p := probabilities(variance.float())
		counts := map[int64]float64{}
		for _, x := range draw(t, variance, n, byte(40+i)) {
			counts[x]++
		}
		statistic, bins, restCount, restP := 0.0, 1.0, float64(n), 1.0
		for x, px := range p {
			if px*n < 10 {
				continue
			}
			statistic += square(counts[x]-px*n) / (px * n)
			bins, restCount, restP = bins+1, restCount-counts[x], restP-px
		}
		statistic += square(restCount-restP*n) / (restP * n)
		if limit := chiSquareLimit(bins - 1); statistic > limit {
			t.Errorf("variance %v: chi-square is %v with %v degrees of freedom, limit %v", variance, statistic, bins-1, limit)
		}
	}
}

// chiSquareLimit is passed with probability below 1e-9: Laurent and Massart (2000),
// Lemma 1: P(X >= k + 2 sqrt(k x) + 2x) <= exp(-x), here with x = 20.8.
func chiSquareLimit(k float64) float64 {
	const x = 20.8
	return k + 2*math.Sqrt(k*x) + 2*x
}

// probabilities returns those of all integers within 12 standard deviations.
func probabilities(variance float64) map[int64]float64 {
	p, total := map[int64]float64{}, 0.0
	reach := int64(12*math.Sqrt(variance)) + 1
	for x := -reach; x <= reach; x++ {
		p[x] = math.Exp(-float64(x*x) / (2 * variance))
		total += p[x]
	}
	for x := range p {
		p[x] /= total
	}
	return p
}

// TestLargeVariances looks at the same samples in three ways.
func TestLargeVariances(t *testing.T) {
	for i, variance := range []uint64{1 << 14, 1 << 20, 1 << 40, 1 << 60, MaxVariance} {
		x := draw(t, integer(variance), samples, byte(50+i))
		checkMoments(t, variance, x)
		checkTailsAndSigns(t, variance, x)
		checkKolmogorov(t, variance, x)
	}
}

// checkKolmogorov compares the distribution with the normal one, which the discrete
// one's distribution function, taken halfway between integers, equals up to
// 1/(24 s^2): nothing at these s. P(sqrt(n) D > 3.3) <= 2 exp(-2 * 3.3^2) = 7e-10
// (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant). It sorts x.
func checkKolmogorov(t *testing.T, variance uint64, x []int64) {
	t.Helper()
	slices.Sort(x)
	n, distance := float64(len(x)), 0.0
	for j, v := range x {
		if j+1 < len(x) && x[j+1] == v {
			continue // the empirical function steps once at a value
		}
		f := normal((float64(v) + 0.5) / math.Sqrt(float64(variance)))
		distance = max(distance, math.Abs(f-float64(j+1)/n))
	}
	if got := math.Sqrt(n) * distance; got > 3.3 {
		t.Errorf("variance 2^%v: sqrt(n) D = %v", math.Log2(float64(variance)), got)
	}
}

func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// checkMoments: the mean of n samples has standard deviation s/sqrt(n), the mean square
// s^2 sqrt(2/n), the mean fourth power over s^4, which is 3, sqrt(96/n). Seven of
// them are passed with probability 3e-12 under a normal law, to which sums of
// 100,000 are close enough for 1e-9.
func checkMoments(t *testing.T, variance uint64, x []int64) {
	t.Helper()
	n, mean, second, fourth := float64(len(x)), 0.0, 0.0, 0.0
	for _, v := range x {
		z := float64(v) / math.Sqrt(float64(variance))
		mean, second, fourth = mean+z/n, second+z*z/n, fourth+z*z*z*z/n
	}
	for name, c := range map[string]struct{ got, want, deviation float64 }{
		"mean":              {mean, 0, math.Sqrt(1 / n)},
		"mean square":       {second, 1, math.Sqrt(2 / n)},
		"mean fourth power": {fourth, 3, math.Sqrt(96 / n)},
	} {
		if math.Abs(c.got-c.want) > 7*c.deviation {
			t.Errorf("variance %d: %s is %v in units of s, want %v", variance, name, c.got, c.want)
		}
	}
}

// checkTailsAndSigns counts samples beyond 3 s, of either sign, and the signs
// themselves. A count with expectation m is binomial; Bernstein's inequality with
// deviation 7 sqrt(m) + 15 leaves less than 1e-9.
func checkTailsAndSigns(t *testing.T, variance uint64, x []int64) {
	t.Helper()
	limit := 3 * int64(math.Sqrt(float64(variance)))
	var above, below, positive, negative float64
	for _, v := range x {
		above, below = above+indicator(v > limit), below+indicator(v < -limit)
		positive, negative = positive+indicator(v > 0), negative+indicator(v < 0)
	}
	zero := 1 / math.Sqrt(2*math.Pi*float64(variance))
	for name, c := range map[string]struct{ count, p float64 }{
		"above 3 s": {above, normal(-3)}, "below -3 s": {below, normal(-3)},
		"positive": {positive, (1 - zero) / 2}, "negative": {negative, (1 - zero) / 2},
	} {
		if m := float64(len(x)) * c.p; math.Abs(c.count-m) > 7*math.Sqrt(m)+15 {
			t.Errorf("variance %d: %v samples %s, want about %v", variance, c.count, name, m)
		}
	}
}

// TestLowBitsAreUniform: at a large variance the samples modulo 64 are uniform to
// within exp(-2 pi^2 (s/64)^2), which is nothing.
func TestLowBitsAreUniform(t *testing.T) {
	const n = samples
	var counts [64]float64
	for _, x := range draw(t, integer(1<<60+12345), n, 80) {
		counts[x&63]++
	}
	statistic := 0.0
	for _, c := range counts {
		statistic += square(c-n/64.0) / (n / 64.0)
	}
	if limit := chiSquareLimit(63); statistic > limit {
		t.Errorf("chi-square is %v, limit %v", statistic, limit)
	}
}

func draw(t *testing.T, variance variance, n int, seed byte) []int64 {
	t.Helper()
	x := make([]int64, n)
	if err := mustNew(t, variance).Fill(x, seeded(seed)); err != nil {
		t.Fatal(err)
	}
	return x
}

// float returns s^2.
func (v variance) float() float64 { return float64(v.num) / float64(v.den) }

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func square(x float64) float64 { return x * x }
