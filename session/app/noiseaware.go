package app

import (
	"fmt"

	"choir/learn/pvi"
	"choir/protocol"
)

// Revealed is what an accepted round revealed.
type Revealed struct {
	Round   uint32
	Counted int     // parties whose contributions the sum counts
	Before  []int64 // the public state before the round
	Sum     []int64 // grid units
}

// noiseOn returns the variance of all noise on a revealed sum, in grid units squared.
func noiseOn(p *protocol.Plan, counted int) float64 {
	switch p.Noise {
	case protocol.NoiseParty, protocol.NoiseLocal:
		return float64(p.Variance) * float64(counted)
	case protocol.NoiseCompute:
		return float64(p.Variance) * float64(p.Computes())
	}
	return 0
}

// NoiseAware implements Spec.
func (l *PVI) NoiseAware(p *protocol.Plan, trace []Revealed) (*pvi.Posterior, error) {
	trace = l.evaluation().trace(p.Rounds, l.PVI.Dim(), trace)
	var all []pvi.Observation
	for _, r := range trace {
		if int(r.Round) <= l.CentreRounds {
			continue
		}
		raw, err := l.learning(r.Before)
		if err != nil {
			return nil, err
		}
		all = append(all, pvi.Observation{Round: int(r.Round) - l.CentreRounds, Raw: raw, Sum: r.Sum,
			Variance: noiseOn(p, r.Counted), Parties: r.Counted})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no round of learning was accepted", pvi.ErrUncorrected)
	}
	q, err := l.PVI.NoiseAware(all)
	if err != nil {
		return nil, err
	}
	return l.after(p, trace[len(trace)-1].Before, q)
}

// NoiseAware implements Spec.
func (g *GlobalVI) NoiseAware(p *protocol.Plan, trace []Revealed) (*pvi.Posterior, error) {
	var all []pvi.Observation
	for _, r := range g.evaluation().trace(p.Rounds, g.Global.Dim(), trace) {
		all = append(all, pvi.Observation{Round: int(r.Round), Raw: r.Before, Sum: r.Sum,
			Variance: noiseOn(p, r.Counted), Parties: r.Counted})
	}
	return g.Global.NoiseAware(all)
}

// NoiseAware implements Spec. The posterior of noisy statistics counts their noise already; the
// variance is that of the parties that the sums counted.
func (s *Statistics) NoiseAware(p *protocol.Plan, trace []Revealed) (*pvi.Posterior, error) {
	trace = s.evaluation().trace(p.Rounds, s.Statistics.Dim(), trace)
	if len(trace) == 0 {
		return nil, fmt.Errorf("no rounds: %w", pvi.ErrShape)
	}
	noise := 0.0
	for _, r := range trace {
		noise += noiseOn(p, r.Counted) / float64(len(trace))
	}
	last := trace[len(trace)-1]
	state, err := s.Statistics.Fold(int(last.Round), last.Before, last.Sum)
	if err != nil {
		return nil, err
	}
	return s.Statistics.Predictive(state, noise)
}
