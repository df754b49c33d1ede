package global

import (
	"errors"
	"fmt"
	"math"

	"choir/learn/model"
	"choir/learn/pvi"
)

// The public grids of the state: parameters in units of 2^-32, the optimiser's
// averages (of gradients per record) in units of 2^-40.
const (
	paramBits  = 32
	momentBits = 40
)

// Adam's constants ([KB15], algorithm 1).
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// maxLogSD bounds the magnitude of a log standard deviation. No useful run reaches it, and
// it keeps every number finite.
const maxLogSD = 20

var (
	// ErrOverflow: a state would leave its grid. The given state is unchanged.
	ErrOverflow = errors.New("state overflows its grid")
	// ErrShape: a vector has the wrong length or an impossible value.
	ErrShape = errors.New("malformed state or sum")
	// ErrRound: a round number is out of range.
	ErrRound = errors.New("round is out of range")
)

// stateDim is the length of the public state: the parameters, Adam's two averages (0 for
// the other optimisers), and the averaged parameters, Dim numbers each.
func (c Config) stateDim() int { return 4 * c.Dim() }

// state is the parts of a public state, each of Dim numbers.
type state struct {
	param  []int64 // means, then log standard deviations; with Natural h, then precisions; 2^-32
	first  []int64 // Adam's average gradient; 2^-40
	second []int64 // square root of Adam's average squared gradient; 2^-40
	mean   []int64 // averaged parameters; 2^-32
}

func (c Config) open(raw []int64) (s state, err error) {
	n := c.Dim()
	if len(raw) != 4*n {
		return s, fmt.Errorf("state of length %d, want %d: %w", len(raw), 4*n, ErrShape)
	}
	s = state{raw[:n], raw[n : 2*n], raw[2*n : 3*n], raw[3*n:]}
	for i := range n {
		if sd := i >= n/2; sd && (c.outside(s.param[i]) || c.outside(s.mean[i])) || s.second[i] < 0 {
			return s, fmt.Errorf("state, parameter %d: %w", i, ErrShape)
		}
	}
	return s, nil
}

// outside reports whether v is no log standard deviation, or no precision.
func (c Config) outside(v int64) bool {
	if c.Optimiser == Natural {
		return v <= 0
	}
	return v > maxLogSD<<paramBits || v < -maxLogSD<<paramBits
}

// Initial returns the public state before round 1: means within InitialSpread of 0,
// standard deviations InitialSD.
func (c Config) Initial() []int64 {
	raw := make([]int64, c.stateDim())
	n := c.Dim()
	s := state{raw[:n], raw[n : 2*n], raw[2*n : 3*n], raw[3*n:]}
	if c.Optimiser == Natural {
		for i := range c.weights() {
			h, p := c.naturalStart(float64(c.InitialSpread * model.Uniform(i)))
			toGrid(&s.param[i], h, paramBits)
			toGrid(&s.param[i+c.weights()], p, paramBits)
		}
		copy(s.mean, s.param)
		return raw
	}
	// The same on every machine: a logarithm that is off by a unit in its last place
	// rounds to the same grid point but in a near tie.
	log := int64(math.RoundToEven(math.Ldexp(math.Log(c.InitialSD), 20))) << (paramBits - 20)
	for i := range c.weights() {
		m := int64(math.RoundToEven(math.Ldexp(c.InitialSpread*model.Uniform(i), paramBits)))
		s.param[i], s.mean[i] = m, m
	}
	for i := c.weights(); i < c.Dim(); i++ {
		s.param[i], s.mean[i] = log, log
	}
	return raw
}

// Fold is the optimiser's step of a round, from 1, where sum is the revealed total of the
// parties' gradients and of the noise in units of 2^-FracBits, length Dim. It is pure.
// Errors: ErrRound, ErrShape, ErrOverflow.
func (c Config) Fold(round int, raw, sum []int64) ([]int64, error) {
	if round < 1 || round > pvi.MaxRounds {
		return nil, fmt.Errorf("fold of round %d: %w", round, ErrRound)
	}
	if len(sum) != c.Dim() {
		return nil, fmt.Errorf("fold: sum of length %d, want %d: %w", len(sum), c.Dim(), ErrShape)
	}
	if _, err := c.open(raw); err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	next := append([]int64(nil), raw...)
	if c.curvatureRound(round) {
		return next, nil
	}
	s, _ := c.open(next)
	p := c.pace(round)
	if c.Optimiser == Natural {
		for i := range p.weights {
			if err := c.naturalStep(s, i, sum, p); err != nil {
				return nil, fmt.Errorf("fold of round %d, weight %d: %w", round, i, err)
			}
		}
		return next, nil
	}
	for i, x := range sum {
		if err := c.step(s, i, x, p); err != nil {
			return nil, fmt.Errorf("fold of round %d, parameter %d: %w", round, i, err)
		}
	}
	return next, nil
}

// pace has the numbers that all steps of one round use.
type pace struct {
	weights      int
	rate         float64
	bias1, bias2 float64 // Adam's 1 - beta^s
	average      float64 // share of the distance by which the average moves
}

func (c Config) pace(round int) pace {
	slow := 1 + float64(c.RateDecay*float64(round-1))
	p := pace{weights: c.weights(), rate: c.LearningRate / slow, bias1: 1 - power(beta1, round),
		bias2: 1 - power(beta2, round), average: 1}
	if c.Averaging > 0 {
		p.average = (c.Averaging + 1) / (float64(round) + c.Averaging)
	}
	return p
}

// power is b^n by squaring.
func power(b float64, n int) float64 {
	out := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out = float64(out * b)
		}
		b = float64(b * b)
	}
	return out
}

// step moves parameter i. The conversions keep compilers from fusing a product with
// a sum, which rounds differently.
func (c Config) step(s state, i int, sum int64, p pace) error {
	n := float64(c.Records)
	value := math.Ldexp(float64(s.param[i]), -paramBits)
	g := (float64(math.Ldexp(float64(sum), -int(c.FracBits))/c.SampleRate) +
		c.pull(i >= p.weights, value)) / n
	move := g
	if c.Optimiser == Adam {
		m, r := math.Ldexp(float64(s.first[i]), -momentBits), math.Ldexp(float64(s.second[i]), -momentBits)
		m = float64(beta1*m) + float64((1-beta1)*g)
		v := float64(beta2*float64(r*r)) + float64((1-beta2)*float64(g*g))
		r = math.Sqrt(v)
		move = (m / p.bias1) / (r/math.Sqrt(p.bias2) + epsilon)
		if !toGrid(&s.first[i], m, momentBits) || !toGrid(&s.second[i], r, momentBits) {
			return ErrOverflow
		}
	}
	value += float64(p.rate * move)
	if i >= p.weights {
		value = min(max(value, -maxLogSD), maxLogSD)
	}
	mean := math.Ldexp(float64(s.mean[i]), -paramBits)
	mean += float64(p.average * (value - mean))
	if p.average == 1 {
		mean = value
	}
	if !toGrid(&s.param[i], value, paramBits) || !toGrid(&s.mean[i], mean, paramBits) {
		return ErrOverflow
	}
	return nil
}

// pull is the derivative of -KL(posterior || prior) by a parameter: -P m for a mean,
// 1 - P sd^2 for a log standard deviation.
func (c Config) pull(sd bool, value float64) float64 {
	if !sd {
		return -float64(c.PriorPrecision * value)
	}
	return 1 - float64(c.PriorPrecision*exp(2*value))
}

// toGrid rounds v to units of 2^-bits and reports whether it fits.
func toGrid(dst *int64, v float64, bits int) bool {
	r := math.RoundToEven(math.Ldexp(v, bits))
	if !(math.Abs(r) < 1<<62) {
		return false
	}
	*dst = int64(r)
	return true
}
