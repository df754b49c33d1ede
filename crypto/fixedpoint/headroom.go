package fixedpoint

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"choir/crypto/field"
)

// The probability of a wrap-around over a whole plan must be at most 2^-failureBits.
const failureBits = 40

var (
	// ErrHeadroom reports that a sum could leave the signed range of the field.
	ErrHeadroom = errors.New("fixedpoint: no headroom")

	// ErrHeadroomParameters reports that there are no parties, coordinates or rounds.
	ErrHeadroomParameters = errors.New("fixedpoint: headroom for nothing")
)

// Headroom describes everything that is summed under a plan.
type Headroom struct {
	Parties       int    // the most contributions in one sum, at least 1
	PerParty      uint64 // largest |coordinate| of a party's clipped contribution, in grid units
	NoiseVariance uint64 // variance parameter of each party's noise, in grid units squared; 0 is none
	Dim           int    // coordinates, at least 1
	Rounds        int    // sums over the whole plan, further attempts included; at least 1
	Paired        bool   // two coordinates share an element ([Pair])
}

// limit returns the largest magnitude that a coordinate of a sum may have: (p-1)/2, or
// [MaxPaired] if two coordinates share an element.
func (h Headroom) limit() uint64 {
	if h.Paired {
		return MaxPaired
	}
	return uint64(field.MaxSigned)
}

// Check returns [ErrHeadroom] with the numbers unless
//
//	Parties * PerParty + Tail() <= Limit().
//
// That condition implies that every contribution and every sum of honest parties decodes to the
// correct integer, except with probability 2^-40 over all coordinates, parties and rounds. It does
// not cover what a dishonest party adds.
func (h Headroom) Check() error {
	if h.Parties < 1 || h.Dim < 1 || h.Rounds < 1 {
		return fmt.Errorf("%w: %d parties, %d coordinates, %d rounds; each must be at least 1",
			ErrHeadroomParameters, h.Parties, h.Dim, h.Rounds)
	}
	signal := product(uint64(h.Parties), h.PerParty)
	tail := h.tail()
	total := new(big.Int).Add(signal, tail)
	limit := new(big.Int).SetUint64(h.limit())
	excess := new(big.Int).Div(total, limit).BitLen()
	if total.Cmp(limit) <= 0 {
		return nil
	}
	name, remedy := "(p-1)/2", "fewer parties"
	if h.Paired {
		name, remedy = "2^31 - 1", "fewer parties, or an element for each coordinate"
	}
	return fmt.Errorf("%w: %d parties * %d + noise tail %v = %v exceeds %s = %v; "+
		"taking %d off the fraction bits of the grid would do, or a smaller clip, or %s",
		ErrHeadroom, h.Parties, h.PerParty, tail, total, name, limit, excess, remedy)
}

// Tail returns a bound, in grid units, on the magnitude of the noise in every coordinate, of one
// party or of the sum over all parties. It is exceeded with probability at most 2^-40 over the
// whole plan. It is math.MaxUint64 if it does not fit.
//
// The discrete Gaussian X with parameter s^2 is sub-Gaussian with that parameter
// ([CKS20]): completing the square,
//
//	E exp(aX) = exp(a^2 s^2 / 2) * sum_x exp(-(x - a s^2)^2 / 2s^2) / sum_x exp(-x^2 / 2s^2),
//
// where the sum over the shifted lattice is never above the sum over the lattice, by Poisson
// summation. The sum of n <= N independent samples is therefore sub-Gaussian with N s^2, and
// Chernoff's bound gives
//
//	P(|sum| >= t) <= 2 exp(-t^2 / (2 N s^2)).
//
// A union bound over Dim * Rounds coordinates, each in N contributions and in one
// sum, requires t^2 >= 2 N s^2 (ln(2 Dim Rounds (N+1)) + 40 ln 2). The logarithm is
// rounded up to an integer number of bits, so that the arithmetic is exact and every member
// computes the same bound.
func (h Headroom) Tail() uint64 {
	t := h.tail()
	if !t.IsUint64() {
		return math.MaxUint64
	}
	return t.Uint64()
}

// NormTail returns a bound, in grid units, on the L2 norm of the noise in a sum over all parties. It is
// exceeded with probability at most 2^-40 over the whole plan. It is math.MaxUint64 if it does not fit.
//
// The noise is a vector of Dim independent coordinates that are sub-Gaussian with N s^2 (see Tail), so
// by [HKZ12], Theorem 2.1,
//
//	P(|sum|^2 > N s^2 (Dim + 2 sqrt(Dim t) + 2 t)) <= exp(-t).
//
// t = (40 + ceil(log2 Rounds)) ln 2, rounded up, covers all rounds. All roots and t are rounded up to
// integers, so that every member computes the same bound.
func (h Headroom) NormTail() uint64 {
	rounds := new(big.Int).SetUint64(uint64(h.Rounds))
	eventBits := rounds.Sub(rounds, big.NewInt(1)).BitLen()
	t := ceilDiv(product(6931471806, uint64(eventBits)+failureBits), big.NewInt(10_000_000_000))
	dim := new(big.Int).SetUint64(uint64(h.Dim))
	factor := ceilSqrt(new(big.Int).Mul(dim, t))
	factor.Add(factor, t)
	factor.Lsh(factor, 1)
	factor.Add(factor, dim)
	norm := ceilSqrt(factor.Mul(factor, product(uint64(h.Parties), h.NoiseVariance)))
	if !norm.IsUint64() {
		return math.MaxUint64
	}
	return norm.Uint64()
}

// tail is Tail without the limit of 64 bits.
func (h Headroom) tail() *big.Int {
	// 6931471806 / 10^10 is just above ln 2.
	t := product(uint64(h.Parties), h.NoiseVariance)
	t.Mul(t, product(2*6931471806, h.eventBits()+failureBits))
	return ceilSqrt(ceilDiv(t, big.NewInt(10_000_000_000)))
}

// eventBits returns ceil(log2(2 Dim Rounds (Parties + 1))).
func (h Headroom) eventBits() uint64 {
	events := product(2, uint64(h.Dim))
	events.Mul(events, product(uint64(h.Rounds), uint64(h.Parties)+1))
	return uint64(events.Sub(events, big.NewInt(1)).BitLen())
}

// product returns a * b.
func product(a, b uint64) *big.Int {
	x := new(big.Int).SetUint64(a)
	return x.Mul(x, new(big.Int).SetUint64(b))
}

// ceilDiv returns a / b rounded up, for a >= 0 and b > 0.
func ceilDiv(a, b *big.Int) *big.Int {
	q, r := new(big.Int).DivMod(a, b, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// ceilSqrt returns the square root of a >= 0 rounded up.
func ceilSqrt(a *big.Int) *big.Int {
	root := new(big.Int).Sqrt(a)
	if new(big.Int).Mul(root, root).Cmp(a) < 0 {
		root.Add(root, big.NewInt(1))
	}
	return root
}
