package stats

import (
	"errors"
	"fmt"
	"math"

	"choir/learn/pvi"
)

var (
	// ErrOverflow: a state would leave the range of int64.
	ErrOverflow = errors.New("state overflows 64 bits on this grid")
	// ErrShape: a vector has the wrong length or an impossible value.
	ErrShape = errors.New("malformed state or sum")
	// ErrRound: a round number is out of range.
	ErrRound = errors.New("round is out of range")
)

// stateDim is the length of the public state: the numbers of accepted moment and
// statistics rounds, and the sums of both; with residuals, the same of their rounds.
func (c Config) stateDim() int {
	n := 2 + 2*c.moved() + c.Dim()
	if c.ResidualFrom > 0 {
		n += 1 + c.Dim()
	}
	return n
}

type state struct {
	momentRounds      int64
	moments           []int64
	targets, residual totals
}

// totals are the sums of rounds of statistics.
type totals struct {
	rounds   int64
	products []int64
}

func (c Config) open(raw []int64) (s state, err error) {
	if len(raw) != c.stateDim() || raw[0] < 0 || raw[1] < 0 {
		return s, fmt.Errorf("state: %w", ErrShape)
	}
	split := 2 + 2*c.moved()
	end := split + c.Dim()
	s = state{momentRounds: raw[0], moments: raw[2:split], targets: totals{raw[1], raw[split:end]}}
	if c.ResidualFrom > 0 {
		if raw[end] < 0 {
			return s, fmt.Errorf("state: %w", ErrShape)
		}
		s.residual = totals{raw[end], raw[end+1:]}
	}
	return s, nil
}

// Initial returns the state before round 1.
func (c Config) Initial() []int64 { return make([]int64, c.stateDim()) }

// Fold adds a round's revealed sum to the state, by the kind of the round. It is pure.
// Errors: ErrRound, ErrShape, ErrOverflow.
func (c Config) Fold(round int, raw, sum []int64) ([]int64, error) {
	if round < 1 || round > pvi.MaxRounds {
		return nil, fmt.Errorf("fold of round %d: %w", round, ErrRound)
	}
	if _, err := c.open(raw); err != nil || len(sum) != c.Dim() {
		return nil, fmt.Errorf("fold: %w", ErrShape)
	}
	next := append([]int64(nil), raw...)
	s, _ := c.open(next)
	into, count := s.targets.products, &next[1]
	switch {
	case round <= c.MomentRounds:
		into, count = s.moments, &next[0]
	case c.residualRound(round):
		into, count = s.residual.products, &next[len(next)-1-c.Dim()]
	}
	*count++
	for i := range into {
		v := into[i] + sum[i]
		if (sum[i] > 0 && v < into[i]) || (sum[i] < 0 && v > into[i]) {
			return nil, fmt.Errorf("fold of round %d, coordinate %d: %w", round, i, ErrOverflow)
		}
		into[i] = v
	}
	return next, nil
}

// scale is a column's centre and unit, in the data's unit.
type scale struct{ center, unit float64 }

// scales returns the columns' scales, the target last, by which the records of a statistics
// round are shifted and divided. noise is the variance of the noise on one round's sum, in
// the sum's unit squared: an estimated variance below its own standard error counts as
// that. The bias is unchanged.
func (c Config) scales(s state, noise float64) []scale {
	out := make([]scale, c.columns())
	bias := c.Features - 1
	for j := range out {
		out[j] = scale{0, c.bound(j)}
	}
	out[bias] = scale{0, 1}
	if s.momentRounds == 0 {
		out[c.Features].unit /= c.targetWeight()
		return out
	}
	for k := range c.moved() {
		j := c.column(k)
		mean, variance, _ := c.moment(s, noise, j)
		variance = min(max(variance, c.momentNoise(s, noise), 0x1p-20), 1)
		out[j] = scale{c.bound(j) * mean, c.bound(j) * math.Sqrt(variance)}
	}
	out[c.Features].unit /= c.targetWeight()
	return out
}

// Centres returns the columns' centres that moment rounds measured, in the data's own units, where a missing
// number is; nil without such rounds. The bias's is 0. Errors: ErrShape.
func (c Config) Centres(raw []int64) ([]float64, error) {
	s, err := c.open(raw)
	if err != nil || s.momentRounds == 0 {
		return nil, err
	}
	out := make([]float64, c.Features)
	for j, of := range c.scales(s, 0)[:c.Features] {
		out[j] = of.center
	}
	return out, nil
}

// moment returns what moment rounds measured of a column that has moments, in units of its bound: its mean,
// its variance, and the standard deviation of the noise on that.
func (c Config) moment(s state, noise float64, j int) (mean, variance, sd float64) {
	k := min(j, c.Features-1)
	unit := c.momentUnit(s)
	mean = min(max(2*float64(s.moments[2*k])/unit, -1), 1)
	variance = float64(s.moments[2*k+1])/unit - float64(mean*mean)
	return mean, variance, c.momentNoise(s, noise) * math.Sqrt(1+16*mean*mean)
}

// momentUnit is a mean square of 1 in a state.
func (c Config) momentUnit(s state) float64 {
	return float64(s.momentRounds) * float64(c.Records) * float64(c.momentScale()) * (1 << (2 * momentBits))
}

// momentNoise is the standard deviation of the noise on a mean square.
func (c Config) momentNoise(s state, noise float64) float64 {
	return math.Sqrt(float64(s.momentRounds)*noise) / c.momentUnit(s)
}

func (c Config) targetWeight() float64 {
	if c.TargetWeight == 0 {
		return 1
	}
	return c.TargetWeight
}

// MomentError is the standard error of a column's mean square after all moment rounds, over the mean square
// that the column is expected to have: the largest of all columns. noise is the variance of the noise on one
// round's sum, in the sum's unit squared.
func (c Config) MomentError(noise float64) float64 {
	unit := float64(c.MomentRounds) * float64(c.Records) * float64(c.momentScale()) * (1 << (2 * momentBits))
	least, worst := math.Sqrt(float64(c.MomentRounds)*noise)/unit, 0.0
	for k := range c.moved() {
		wide := c.bound(c.column(k)) / c.length(c.column(k))
		worst = max(worst, least*wide*wide)
	}
	return worst
}

// ScoreNoise is the standard deviation of the noise on a coordinate of X'e after a number of rounds of
// residuals e, over that by sampling of residuals as long as targets are in scaled units. noise is the
// standard deviation on one round's sum, in the sum's unit.
func (c Config) ScoreNoise(noise float64, rounds int) float64 {
	sd := noise / math.Sqrt(float64(rounds)) * math.Ldexp(1, -int(c.SumFracBits())) / offDiagonal
	return sd / (math.Sqrt(float64(c.Records)) * c.targetWeight())
}

// column is the k-th column that has moments: the features before the bias, then the
// target.
func (c Config) column(k int) int {
	if k == c.Features-1 {
		return c.Features
	}
	return k
}

// bound is a column's public bound.
func (c Config) bound(j int) float64 {
	if j == c.Features {
		return c.TargetBound
	}
	if j < len(c.Bounds) {
		return c.Bounds[j]
	}
	return c.Bound
}
