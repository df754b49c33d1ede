package session

import (
	"context"
	"fmt"

	"choir/protocol"
)

// Sum is the plainest application: one round, the model is the sum (the DCA's
// sum query, Paper I, Algorithm 1). It keeps no private state.
type Sum struct{ Dim int }

// Initial is a vector of zeros.
func (s Sum) Initial() []int64 { return make([]int64, s.Dim) }

// Fold replaces the model by the sum.
func (s Sum) Fold(_ uint32, _, sum []int64) ([]int64, error) {
	if len(sum) != s.Dim {
		return nil, fmt.Errorf("sum: %d coordinates, not %d", len(sum), s.Dim)
	}
	return sum, nil
}

// InitialState is empty.
func (Sum) InitialState() []byte { return []byte{} }

// Settle keeps nothing.
func (Sum) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }

// Fixed proposes the same update in every round.
type Fixed []int64

// Propose implements protocol.Proposer.
func (f Fixed) Propose(context.Context, protocol.Work) ([]int64, []byte, error) {
	return append([]int64(nil), f...), []byte{}, nil
}
