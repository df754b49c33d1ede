package noise

import (
	"math"
	"slices"
	"testing"
)

// The tests below draw from fixed seeds, so that they pass always or never. Their
// thresholds are such that an exact sampler with a random seed would fail with
// probability below 1e-9 each; about 140 comparisons make it 1.4e-7 altogether.

// trial is a sampler and how many samples of it are looked at.
type trial struct {
	name string
	n    int
	make func(t testing.TB, v variance) sampler
}

var trials = []trial{
	{"Gaussian", 200_000, func(t testing.TB, v variance) sampler { return mustNew(t, v) }},
	{"Reference", 20_000, func(t testing.TB, v variance) sampler { return mustNewReference(t, v) }},
}

func (c trial) draw(t *testing.T, v variance, seed byte) []int64 {
	t.Helper()
	x := make([]int64, c.n)
	if err := c.make(t, v).Fill(x, seeded(seed)); err != nil {
		t.Fatal(err)
	}
	return x
}

// smallVariances have sigma from 0.25 to 128: bins of one magnitude up to variance 255, then of two and
// of nine.
var smallVariances = []variance{
	{1, 16}, {9, 100}, {1, 4}, {49, 100}, {1, 1}, {2, 1}, {9, 4}, {5, 1}, {100, 1}, {255, 1}, {300, 1},
	{1023, 1}, {1 << 14, 1}, {1<<44 + 1, 1 << 30},
}

func TestSmallVariancesChiSquare(t *testing.T) {
	for _, c := range trials {
		for i, v := range smallVariances {
			statistic, freedom := chiSquare(c.draw(t, v, byte(40+i)), probabilities(v.float()))
			if limit := chiSquareLimit(freedom); statistic > limit || freedom < 1 {
				t.Errorf("%s, variance %v: chi-square is %v with %v degrees of freedom, limit %v", c.name, v, statistic,
					freedom, limit)
			}
		}
	}
}

// chiSquare compares counts with the probabilities p, computed to double precision, of
// every integer whose expected count is 10 or more; the rest is one bin, unless it
// expects less. A statistic of k bins has k-1 degrees of freedom.
func chiSquare(x []int64, p map[int64]float64) (statistic, freedom float64) {
	counts, n := map[int64]float64{}, float64(len(x))
	for _, v := range x {
		counts[v]++
	}
	restCount, restP := n, 1.0
	for v, pv := range p {
		if pv*n < 10 {
			continue
		}
		statistic += square(counts[v]-pv*n) / (pv * n)
		freedom, restCount, restP = freedom+1, restCount-counts[v], restP-pv
	}
	if restP*n < 10 {
		return statistic, freedom - 1
	}
	return statistic + square(restCount-restP*n)/(restP*n), freedom
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

// largeVariances: sigma from 2^5 to 2^31.
var largeVariances = []variance{
	{1 << 10, 1}, {1 << 14, 1}, {1 << 20, 1}, {1 << 30, 1}, {1 << 40, 1}, {1 << 50, 3}, {1 << 60, 1},
	{1<<61 + 1, 1 << 31}, {maxVariance, 1},
}

// TestLargeVariances looks at the same samples in three ways.
func TestLargeVariances(t *testing.T) {
	for _, c := range trials {
		for i, v := range largeVariances {
			x := c.draw(t, v, byte(60+i))
			checkMoments(t, v.float(), x)
			checkTailsAndSigns(t, v.float(), x)
			checkKolmogorov(t, v.float(), x)
		}
	}
}

// checkKolmogorov compares the distribution with the normal one, which the discrete
// one's distribution function, taken halfway between integers, equals up to
// 1/(24 s^2): 0.03 in sqrt(n) D at most here. P(sqrt(n) D > 3.3) <= 2 exp(-2 * 3.3^2) = 7e-10
// (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant). It sorts x.
func checkKolmogorov(t *testing.T, variance float64, x []int64) {
	t.Helper()
	slices.Sort(x)
	n, distance := float64(len(x)), 0.0
	for j, v := range x {
		if j+1 < len(x) && x[j+1] == v {
			continue // the empirical function steps once at a value
		}
		f := normal((float64(v) + 0.5) / math.Sqrt(variance))
		distance = max(distance, math.Abs(f-float64(j+1)/n))
	}
	if got := math.Sqrt(n) * distance; got > 3.3 {
		t.Errorf("variance 2^%v: sqrt(n) D = %v", math.Log2(variance), got)
	}
}

func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// checkMoments: the mean of n samples has standard deviation s/sqrt(n), the mean square
// s^2 sqrt(2/n), the mean fourth power over s^4, which is 3, sqrt(96/n). Seven of
// them are passed with probability 3e-12 under a normal law, to which sums of
// 100,000 are close enough for 1e-9.
func checkMoments(t *testing.T, variance float64, x []int64) {
	t.Helper()
	n, mean, second, fourth := float64(len(x)), 0.0, 0.0, 0.0
	for _, v := range x {
		z := float64(v) / math.Sqrt(variance)
		mean, second, fourth = mean+z/n, second+z*z/n, fourth+z*z*z*z/n
	}
	for name, c := range map[string]struct{ got, want, deviation float64 }{
		"mean":              {mean, 0, math.Sqrt(1 / n)},
		"mean square":       {second, 1, math.Sqrt(2 / n)},
		"mean fourth power": {fourth, 3, math.Sqrt(96 / n)},
	} {
		t.Run(name, func(t *testing.T) {
			if math.Abs(c.got-c.want) > 7*c.deviation {
				t.Errorf("variance %v: %s is %v in units of s, want %v", variance, name, c.got, c.want)
			}
		})
	}
}

// checkTailsAndSigns counts samples beyond 3 s, of either sign, and the signs
// themselves. A count with expectation m is binomial; Bernstein's inequality with
// deviation 7 sqrt(m) + 15 leaves less than 1e-9.
func checkTailsAndSigns(t *testing.T, variance float64, x []int64) {
	t.Helper()
	limit := 3 * int64(math.Sqrt(variance))
	var above, below, positive, negative float64
	for _, v := range x {
		above, below = above+indicator(v > limit), below+indicator(v < -limit)
		positive, negative = positive+indicator(v > 0), negative+indicator(v < 0)
	}
	zero := 1 / math.Sqrt(2*math.Pi*variance)
	for name, c := range map[string]struct{ count, p float64 }{
		"above 3 s": {above, normal(-3)}, "below -3 s": {below, normal(-3)},
		"positive": {positive, (1 - zero) / 2}, "negative": {negative, (1 - zero) / 2},
	} {
		t.Run(name, func(t *testing.T) {
			if m := float64(len(x)) * c.p; math.Abs(c.count-m) > 7*math.Sqrt(m)+15 {
				t.Errorf("variance %v: %v samples %s, want about %v", variance, c.count, name, m)
			}
		})
	}
}

// TestLowBitsAreUniform: at a large variance the samples modulo 64 are uniform to
// within exp(-2 pi^2 (s/64)^2), which is nothing.
func TestLowBitsAreUniform(t *testing.T) {
	for _, c := range trials {
		p, low := map[int64]float64{}, c.draw(t, integer(1<<60+12345), 80)
		for i := range low {
			low[i] &= 63
			p[low[i]] = 1 / 64.0
		}
		if statistic, freedom := chiSquare(low, p); statistic > chiSquareLimit(freedom) || freedom != 63 {
			t.Errorf("%s: chi-square is %v with %v degrees of freedom", c.name, statistic, freedom)
		}
	}
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
