package pvi

import (
	"fmt"
	"math"
)

// The published scheme of Paper IV with a trusted aggregator, and of the thesis's
// Algorithm 3, lets a party fold its share of the joint noise into its private
// factor. FactorsNoisy without Local is that scheme, for study in memory: Run does
// it, Mechanism refuses it, and so no plan can claim an epsilon for it.
// docs/noisy-factors.md says what goes wrong, by derivation and by measurement.

// PublishedSensitivity is what one record can move the sum of a round by, in units
// of 2^-FracBits, under the published scheme in its worked case: given the public
// history, 2C (1 + a_1 + ... + a_{s-1}), a_r being the damping of round r. It is
// attained when all other shards' updates are exact and unclipped, because they
// then take the noise out again that hid the victim's earlier steps. It isn't
// proven to be the most that can happen; so it bounds an epsilon from below, and
// says that one computed with 2C is not a bound. Errors: ErrConfig for another kind
// of factors, ErrRound, ErrUnbounded.
func (c Config) PublishedSensitivity(round int) (float64, error) {
	if c.Factors != FactorsNoisy || c.params().Local {
		return 0, fmt.Errorf("%w: factors take in no joint noise", ErrConfig)
	}
	if err := checkRound(round); err != nil {
		return 0, err
	}
	b, err := c.bound(2)
	if err != nil {
		return 0, err
	}
	grown := 1.0
	for r := 1; r < round; r++ {
		grown += math.Ldexp(float64(c.DampingUnits(r)), -int(c.DampingBits))
	}
	return float64(b) * grown, nil
}

// takeNoise adds a party's joint noise to what its factors will take in, spread
// evenly over its shards; the first ones get what is left of a division.
func (l *Learner) takeNoise(memo []byte, noise []int64) ([]byte, error) {
	m, err := l.cfg.decode(kindMemo, memo)
	if err != nil {
		return nil, err
	}
	n := int64(len(m.rows))
	for i, z := range noise {
		for k, row := range m.rows {
			part := z / n
			if rest := z % n; int64(k) < max(rest, -rest) {
				part += max(-1, min(1, rest))
			}
			row[i] += part
		}
	}
	return l.cfg.encode(m), nil
}
