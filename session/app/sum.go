package app

import (
	"context"
	"fmt"

	"choir/crypto/fixedpoint"
	"choir/learn/dataset"
	"choir/privacy"
	"choir/protocol"
)

// Sum is the simplest application: one round, and the model is the sum ([DCA],
// Algorithm 1). It keeps no private state.
type Sum struct{ Dim int }

// Initial is a vector of zeros.
func (s Sum) Initial() []int64 { return make([]int64, s.Dim) }

// Zeros is how many zeros Initial has, for who need not make them.
func (s Sum) Zeros() int { return s.Dim }

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

// Row is a party's row of a plan of sums, from the file at a path.
func Row(p *protocol.Plan, path string, x *dataset.Matrix) (Fixed, error) {
	if x.Rows != 1 || x.Cols != int(p.Dim) {
		return nil, protocol.Fail(protocol.ClassInput,
			"data: %s has %d rows of %d columns, the plan wants 1 of %d", path, x.Rows, x.Cols, p.Dim)
	}
	v := make(Fixed, p.Dim)
	if err := (fixedpoint.Grid{FracBits: p.FracBits}).Round(v, x.Row(0)); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if !fixedpoint.NormSquaredAtMost(v, p.PerParty) {
		return nil, protocol.Fail(protocol.ClassInput,
			"data: the row is larger than the plan allows one party: %d units of 2^-%d", p.PerParty, p.FracBits)
	}
	return v, nil
}

// CheckSum refuses claims that a plain sum cannot keep. A party's vector is bounded
// by per_party alone; no records in it are clipped or sampled. The noise hides a
// party's whole vector or nothing.
func CheckSum(p *protocol.Plan) error {
	if p.After != nil {
		return protocol.Fail(protocol.ClassInput, "plan: a sum has no successor plans: make a new plan")
	}
	if !p.Claims() {
		return nil
	}
	whole, err := privacy.Relation(p.Relation).Sensitivity(p.PerParty)
	switch {
	case err != nil:
		return protocol.Fail(protocol.ClassInput, "plan: per_party: %w", err)
	case p.Noise == protocol.NoiseLocal || p.Noise == protocol.NoiseShuffle || p.Sampling != 0:
		return protocol.Fail(protocol.ClassInput,
			"plan: the application %q neither noises nor samples, the claim says that it does", NameSum)
	case p.Sensitivity < whole:
		return protocol.Fail(protocol.ClassInput,
			"plan: sensitivity: one party moves the sum by %d grid units; the claim is for %d", whole, p.Sensitivity)
	}
	return nil
}
