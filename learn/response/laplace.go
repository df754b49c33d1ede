package response

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Noise is added to levels in the place of randomised response: z with a probability proportional to
// (Keep/2^32)^|z|, the discrete Laplace distribution. A sum beyond Margin levels below the first or above
// the last is reported as the end of the margin.
type Noise struct {
	Keep   uint64 `json:"keep"`   // 1 to 2^32 - 1
	Margin uint32 `json:"margin"` // at most 2^16
}

// MaxLocal is the largest local guarantee that NewNoise gives: that of randomised response of two values in
// units of 2^-32 reaches 22.
const MaxLocal = 21

const (
	maxMargin = 1 << 16
	// cutShare is the probability, on either side, with which noise that NewNoise chooses leaves the margin.
	cutShare = 0x1p-20
)

// NewNoise returns the least noise under which reports of levels have the local guarantee
// min(eps0, MaxLocal).
func NewNoise(levels int, eps0 float64) (Noise, error) {
	rate := min(eps0, MaxLocal) / float64(levels-1)
	n := Noise{Keep: uint64(min(unit-1, math.Ceil(unit*math.Exp(-rate)*(1+0x1p-40))))}
	margin := math.Ceil(-math.Log(cutShare) / n.rate())
	if !(margin <= maxMargin) {
		return n, fmt.Errorf("%w: the noise of eps0 %.4g on %d levels goes beyond %d levels more; take fewer "+
			"levels, or a larger eps0 or budget", ErrConfig, eps0, levels, maxMargin)
	}
	n.Margin = uint32(margin)
	return n, nil
}

func (n Noise) check(levels int) error {
	switch {
	case n.Keep < 1 || n.Keep >= unit:
		return fmt.Errorf("%w: keep is %d, want 1 to 2^32 - 1", ErrConfig, n.Keep)
	case n.Margin > maxMargin:
		return fmt.Errorf("%w: margin is %d, want at most %d", ErrConfig, n.Margin, maxMargin)
	case levels < 2 || levels > maxMargin:
		return fmt.Errorf("%w: %d levels aren't in 2..%d", ErrConfig, levels, maxMargin)
	}
	return nil
}

// rate is the epsilon of one level.
func (n Noise) rate() float64 { return -math.Log(float64(n.Keep) / unit) }

// Local returns the guarantee of a report with a number of levels, rounded up.
func (n Noise) Local(levels int) float64 { return float64(levels-1) * n.rate() * (1 + 0x1p-45) }

// SD is the standard deviation of the noise in levels.
func (n Noise) SD() float64 {
	a := float64(n.Keep) / unit
	return math.Sqrt(2*a) / (1 - a)
}

// cells is the number of different reports with a number of levels.
func (n Noise) cells(levels int) int { return levels + 2*int(n.Margin) }

// Report draws a report of a level: its number among the cells, which begin with the margin below.
//
// The noise is the number of heads before the first tail of coins with the probability Keep/2^32, and has a
// random sign; a negative 0 is drawn again. All coins that could matter are drawn, so that their number does
// not tell the noise.
func (n Noise) Report(level, levels int, random io.Reader) (int, error) {
	if level < 0 || level >= levels {
		return 0, fmt.Errorf("response: the level isn't in 0..%d", levels-1)
	}
	last := n.cells(levels) - 1
	coins := make([]byte, 4*(1+levels-1+int(n.Margin))) // a sign, and as many as lead to an end in any case
	for {
		if _, err := io.ReadFull(random, coins); err != nil {
			return 0, fmt.Errorf("response: %w", err)
		}
		size, heads := 0, 1
		for i := 4; i < len(coins); i += 4 {
			if uint64(binary.BigEndian.Uint32(coins[i:])) >= n.Keep {
				heads = 0
			}
			size += heads
		}
		switch at := level + int(n.Margin); {
		case coins[0]&1 == 0:
			return min(last, at+size), nil
		case size > 0:
			return max(0, at-size), nil
		}
	}
}

// moments are the mean and the variance of the reports' numbers less the margin.
func (n Noise) moments(counts []int64, reports float64) (mean, variance float64) {
	for y, c := range counts {
		mean += float64(c) * float64(y-int(n.Margin)) / reports
	}
	for y, c := range counts {
		d := float64(y-int(n.Margin)) - mean
		variance += float64(c) * d * d / reports
	}
	return mean, variance
}

// noisy adds the figures of a column whose reports have noise.
func (f *figures) noisy(e Estimand, q question, counts []int64) {
	if e == Mean {
		f.noisyMean(q, counts)
		return
	}
	f.noisyQuantiles(q, counts)
}

func (f *figures) noisyMean(q question, counts []int64) {
	k := float64(q.categories)
	mean, variance := q.noise.moments(counts, f.reports)
	own := q.noise.SD() * q.noise.SD()
	among := min((k-1)*(k-1)/4, max(0, variance-own))
	width := (q.number.Hi - q.number.Lo) / (k - 1)
	f.put(q, "", "mean", q.place(mean/(k-1)), width*math.Sqrt(own/f.reports),
		width*math.Sqrt(among*f.rounds/f.reports), q.number.Lo, q.number.Hi)
}

// noisyQuantiles estimates the distribution function. With p the law of the noise, ((1 + a^2) p(z) - a p(z-1)
// - a p(z+1))/(1 - a)^2 is 1 at z = 0 and 0 elsewhere, so that the sum over the reports y of
//
//	h(y) = [y <= v] + c ([y = v] - [y = v + 1]), c = a/(1 - a)^2,
//
// has the number of values up to v as its mean.
func (f *figures) noisyQuantiles(q question, counts []int64) {
	a := float64(q.noise.Keep) / unit
	c := a / ((1 - a) * (1 - a))
	k, margin := int(q.categories), int(q.noise.Margin)
	share := make([]float64, len(counts))
	for y, n := range counts {
		share[y] = float64(n) / f.reports
	}
	below, raw, noise := 0.0, make([]float64, k+1), make([]float64, k+1)
	for _, s := range share[:margin] {
		below += s
	}
	for v := range k {
		at, next := share[margin+v], 0.0
		if margin+v+1 < len(share) {
			next = share[margin+v+1]
		}
		below += at
		raw[v+1] = below + c*(at-next)
		p := min(1, max(0, raw[v+1]))
		// The variance of h less that of values.
		spread := below + ((1+c)*(1+c)-1)*at + c*c*next - raw[v+1]*raw[v+1]
		noise[v+1] = math.Sqrt(max(0, spread-p*(1-p)) / f.reports)
	}
	raw[0], raw[k] = 0, 1
	f.inverted(q, smooth(raw), func(_, value float64) float64 {
		bin := min(k-1, int(float64(k)*(value-q.number.Lo)/(q.number.Hi-q.number.Lo)))
		return max(noise[bin], noise[bin+1])
	})
}
