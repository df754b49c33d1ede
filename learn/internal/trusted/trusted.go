// Package trusted runs an application of sums for tests with a plain sum in place of a secret
// one: a trusted aggregator, with the arithmetic and the integers of a session.
package trusted

import "fmt"

// Run is an application of sums.
type Run struct {
	Dim, Parties int
	// Propose is a party's vector, counted from 0, in a round, counted from 1.
	Propose func(round, party int, raw []int64) ([]int64, error)
	// Noise adds a round's noise to the sum, in units of 2^-FracBits; nil adds none.
	Noise func(round int, sum []int64) error
	// Fold is the next public state.
	Fold func(round int, raw, sum []int64) ([]int64, error)
}

// Rounds starts from a public state and returns the one after that many rounds.
func (t Run) Rounds(raw []int64, rounds int) ([]int64, error) {
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, t.Dim)
		for party := range t.Parties {
			update, err := t.Propose(round, party, raw)
			if err != nil {
				return nil, fmt.Errorf("round %d, party %d: %w", round, party, err)
			}
			for j, v := range update {
				sum[j] += v
			}
		}
		if t.Noise != nil {
			if err := t.Noise(round, sum); err != nil {
				return nil, fmt.Errorf("round %d: noise: %w", round, err)
			}
		}
		next, err := t.Fold(round, raw, sum)
		if err != nil {
			return nil, err
		}
		raw = next
	}
	return raw, nil
}
