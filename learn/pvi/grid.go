package pvi

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

// Errors that callers decide on.
var (
	// ErrOverflow: a state would leave the range of int64. The given state is unchanged.
	ErrOverflow = errors.New("state overflows 64 bits on this grid")
	// ErrRound: a round number is out of range or out of order.
	ErrRound = errors.New("round is out of order")
)

func (c Config) space() gauss.Space {
	return gauss.Space{Family: c.Family, Features: c.Weights()}
}

func (c Config) grid() fixedpoint.Grid { return fixedpoint.Grid{FracBits: c.FracBits} }

// rawBits returns f + D: raw states and factors are in units of 2^-(f+D).
func (c Config) rawBits() int { return int(c.FracBits) + int(c.DampingBits) }

// Dim returns the length of an update and of a raw state: 2d in the mean-field family, d +
// d(d+1)/2 in the full one, for d = Weights.
func (c Config) Dim() int { return c.space().Dim() }

// Initial returns the raw state before round 1: the prior times a Gaussian of
// StartPrecision around means within StartSpread.
func (c Config) Initial() []int64 {
	raw := c.prior()
	s, p := c.space(), c.precisionUnits(c.StartPrecision)
	h := math.Ldexp(c.StartSpread*c.StartPrecision, c.rawBits())
	for i := range s.Features {
		raw[i] += int64(math.RoundToEven(h * model.Uniform(i)))
		raw[s.Index(i, i)] += p
	}
	return raw
}

// prior returns the prior as a raw state, the same on every machine. The prior precision is
// rounded to the nearest grid point; a power of two or a small integer is exact.
func (c Config) prior() []int64 {
	raw := make([]int64, c.Dim())
	s, p := c.space(), c.precisionUnits(c.PriorPrecision)
	h := math.Ldexp(c.PriorSpread*c.PriorPrecision, c.rawBits())
	for i := range s.Features {
		raw[i] = int64(math.RoundToEven(h * model.Uniform(i)))
		raw[s.Index(i, i)] = p
	}
	return raw
}

// precisionUnits returns the natural parameter -p/2 in raw units.
func (c Config) precisionUnits(p float64) int64 {
	return -int64(math.RoundToEven(math.Ldexp(p/2, c.rawBits())))
}

// DampingOf is the damping a / (1 + r (s-1)) of round s >= 1. With Newton it is a until the first round whose
// bound is StepBound, from which s counts.
func (c Config) DampingOf(round int) float64 {
	if c.newton() {
		round = max(1, round-RoundsOfBound*c.StepDoublings)
	}
	// The conversion forbids a fused multiply-add, which some processors have:
	// every member must get the same integer.
	slow := 1 + float64(c.DampingDecay*float64(round-1))
	return c.Damping / slow
}

// DampingUnits returns k_s, DampingOf a round in units of 2^-D, rounded, at least 1 and at most 2^D.
func (c Config) DampingUnits(round int) int64 {
	return max(1, int64(math.RoundToEven(math.Ldexp(c.DampingOf(round), int(c.DampingBits)))))
}

// Fold is the round's public step: it returns raw + k_s sum, where sum is the revealed
// total of the parties' updates and noise in units of 2^-f. It leaves raw and sum
// unchanged. With local noise, which the steps of all rounds may let grow, a coordinate stays at the end of
// its range. Errors: ErrRound, ErrShape, ErrOverflow with the coordinate.
func (c Config) Fold(round int, raw, sum []int64) ([]int64, error) {
	if err := checkRound(round); err != nil {
		return nil, err
	}
	if c.traits().once && round > 1 {
		return nil, fmt.Errorf("fold: round %d of a committee, which has one: %w", round, ErrRound)
	}
	if len(raw) != c.Dim() || len(sum) != c.Dim() {
		return nil, fmt.Errorf("fold: lengths %d and %d, want %d: %w", len(raw), len(sum), c.Dim(), bayes.ErrShape)
	}
	if round > c.Learning(round) {
		return append([]int64(nil), raw...), nil
	}
	if c.newton() {
		return c.foldNewton(round, raw, sum)
	}
	sum, err := c.NaturalSum(round, raw, sum)
	if err != nil {
		return nil, fmt.Errorf("fold of round %d, %w", round, err)
	}
	next := make([]int64, len(raw))
	if i := c.add(next, raw, c.DampingUnits(round), sum); i >= 0 {
		return nil, fmt.Errorf("fold of round %d, coordinate %d: %w", round, i, ErrOverflow)
	}
	return next, nil
}

// add is addScaled, or with local noise addWithin, where what is left is nothing but noise.
func (c Config) add(dst, a []int64, k int64, b []int64) int {
	if !c.params().Local {
		return addScaled(dst, a, k, b)
	}
	addWithin(dst, a, k, b)
	return -1
}

// settle adds an update to a private factor. Under a clip it is a total function, for the reason that
// quantise is one: a party whose factor left its range would stay away where another record's did not.
func (c Config) settle(factor []int64, k int64, update []int64) int {
	if c.Clip == 0 {
		return c.add(factor, factor, k, update)
	}
	addWithin(factor, factor, k, update)
	return -1
}

// addWithin sets dst = a + k b for k >= 0, of which each coordinate stays at the end of its range.
func addWithin(dst, a []int64, k int64, b []int64) {
	for i, x := range b {
		if addScaled(dst[i:i+1], a[i:i+1], k, b[i:i+1]) < 0 {
			continue
		}
		dst[i] = math.MaxInt64
		if x < 0 {
			dst[i] = -math.MaxInt64
		}
	}
}

func checkRound(round int) error {
	if round < 1 || round > MaxRounds {
		return fmt.Errorf("round %d, want 1 to %d: %w", round, MaxRounds, ErrRound)
	}
	return nil
}

// addScaled sets dst = a + k b for k >= 0 and returns -1, or the first coordinate that
// overflows. dst may be a.
func addScaled(dst, a []int64, k int64, b []int64) int {
	for i, x := range b {
		p, ok := mul(k, x)
		sum := a[i] + p
		if !ok || (p > 0 && sum < a[i]) || (p < 0 && sum > a[i]) {
			return i
		}
		dst[i] = sum
	}
	return -1
}

// mul returns k x for k >= 0, and whether it fits. The least int64 counts as an overflow.
func mul(k, x int64) (int64, bool) {
	abs, neg := uint64(x), x < 0
	if neg {
		abs = -abs
	}
	hi, lo := bits.Mul64(uint64(k), abs)
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

// Reals converts a raw state to natural parameters.
func (c Config) Reals(raw []int64) []float64 {
	v := make([]float64, len(raw))
	c.toFloat(v, raw)
	return v
}

func (c Config) toFloat(dst []float64, raw []int64) {
	unit := math.Ldexp(1, -c.rawBits())
	for i, x := range raw {
		dst[i] = float64(x) * unit
	}
}
