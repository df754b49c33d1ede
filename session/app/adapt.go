package app

import (
	"context"

	"choir/protocol"
)

// folder is the public side of a method as package learn's configurations have it.
type folder interface {
	Initial() []int64
	Fold(round int, model, sum []int64) ([]int64, error)
}

// model is a folder as a protocol.Model.
type model struct{ folder }

// Fold implements protocol.Model.
func (m model) Fold(round uint32, state, sum []int64) ([]int64, error) {
	return m.folder.Fold(int(round), state, sum)
}

// stateless is a party's side without private state.
type stateless struct {
	model
	PartyConfig
	propose func(ctx context.Context, w protocol.Work) (update []int64, clipped float64, err error)
}

// InitialState is empty.
func (stateless) InitialState() []byte { return []byte{} }

// Settle keeps nothing.
func (stateless) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }

// Propose implements protocol.Proposer.
func (s stateless) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	update, clipped, err := s.propose(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	s.report(w.Round, clipped)
	return update, []byte{}, nil
}
