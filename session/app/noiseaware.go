package app

import (
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/centre"
	"choir/learn/defaults"
	"choir/learn/noiseaware/newton"
	"choir/learn/pvi"
	"choir/learn/pvi/reading"
	"choir/protocol"
)

// Revealed is what an accepted round revealed.
type Revealed struct {
	Round   uint32  // counted from the first plan of a chain
	Counted int     // parties whose contributions the sum counts
	Set     []int   // these parties; nil: not known
	Before  []int64 // the public state before the round
	Sum     []int64 // grid units
	// Plan is the plan that the round was under, if that is a predecessor; nil: the plan itself.
	Plan *protocol.Plan
}

// noise is the variance of all noise on the sum, in grid units squared, for a posterior under p.
func (r Revealed) noise(p *protocol.Plan) float64 {
	return noiseOn(r.plan(p), r.Counted)
}

// plan is the plan that the round was under, for a posterior under p.
func (r Revealed) plan(p *protocol.Plan) *protocol.Plan {
	if r.Plan != nil {
		return r.Plan
	}
	return p
}

// others reports whether the round was with other parties than the plan's.
func (r Revealed) others(p *protocol.Plan) bool { return r.Plan != nil && !r.Plan.SameParties(p) }

// set is the places, in p, of the parties of p that the sum counts; nil if they are not known.
func (r Revealed) set(p *protocol.Plan) []int {
	if r.Plan == nil || r.Set == nil {
		return r.Set
	}
	places := []int{}
	for _, k := range r.Set {
		if i, _ := p.Index(r.Plan.Members[k].Key); p.Is(i, protocol.RoleParty) &&
			p.Members[i].Key == r.Plan.Members[k].Key {
			places = append(places, int(i))
		}
	}
	return places
}

// share is what the parties that the sum counts have of all records, by the plan's weights.
func (l *PVI) share(p *protocol.Plan, r Revealed) float64 {
	counted, all := 0.0, 0.0
	for _, w := range l.Weights {
		all += w
	}
	for _, k := range r.set(p) {
		counted += l.Weights[k]
	}
	if counted == 0 || r.others(p) {
		return float64(r.Counted) / float64(r.plan(p).Parties())
	}
	return counted / all
}

// absent is the number of parties that the sum does not count. A count that no set may have is that of
// a trusted aggregator's parts of the noise on the sum of all.
func (r Revealed) absent(p *protocol.Plan) int {
	if q := r.plan(p); r.Counted >= int(q.MinParties) {
		return max(q.Parties()-r.Counted, 0)
	}
	return 0
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
func (l *PVI) NoiseAware(p *protocol.Plan, trace []Revealed) (*bayes.Posterior, error) {
	trace = l.evaluation().trace(p, l.PVI.Dim(), trace)
	schema, err := l.Encoding()
	if err != nil {
		return nil, err
	}
	ranged := centre.Of(schema).Len() > 0
	if l.CentreRounds > 0 {
		schema = centre.Schema(schema, nil)
	}
	scale, intercept := defaults.Scale(schema), defaults.Of(schema).Target
	var doubts []newton.Doubt
	if len(trace) > 0 {
		if doubts, err = l.centring().doubts(p, trace[len(trace)-1].Before); err != nil {
			return nil, err
		}
	}
	var all []reading.Observation
	for _, r := range trace {
		if int(r.Round) <= l.CentreRounds {
			continue
		}
		raw, _, err := l.centring().split(r.Before)
		if err != nil {
			return nil, err
		}
		all = append(all, reading.Observation{Round: int(r.Round) - l.CentreRounds, Raw: raw, Sum: r.Sum,
			Variance: r.noise(p), Parties: r.Counted, Absent: r.absent(p), Set: r.set(p),
			Others: r.others(p), Scale: scale, Intercept: intercept, Ranged: ranged, Doubts: doubts,
			Records: float64(l.Records) * l.share(p, r), Shares: l.Weights})
	}
	if !slices.ContainsFunc(all, func(o reading.Observation) bool {
		return !o.Others && o.Round <= l.PVI.Learning(o.Round)
	}) {
		return nil, fmt.Errorf("%w: no round of learning with these parties was accepted", pvi.ErrUncorrected)
	}
	q, err := reading.NoiseAware(l.PVI, all)
	if err != nil {
		return nil, err
	}
	return l.centring().aware(p, trace[len(trace)-1].Before, q, 1/l.PVI.PriorPrecision)
}

// NoiseAware implements Spec.
func (g *GlobalVI) NoiseAware(p *protocol.Plan, trace []Revealed) (*bayes.Posterior, error) {
	var all []reading.Observation
	var frame []int64 // a state that has it
	for _, r := range g.evaluation().trace(p, g.Global.Dim(), trace) {
		// the score of other records, whose noise is not in later scores
		if r.others(p) || int(r.Round) <= g.CentreRounds {
			continue
		}
		raw, _, err := g.centring().split(r.Before)
		if err != nil {
			return nil, err
		}
		frame = r.Before
		all = append(all, reading.Observation{Round: int(r.Round) - g.CentreRounds, Raw: raw, Sum: r.Sum,
			Variance: r.noise(p), Parties: r.Counted, Absent: r.absent(p), Set: r.set(p)})
	}
	q, err := g.Global.NoiseAware(all)
	if err != nil {
		return nil, err
	}
	return g.centring().aware(p, frame, q, 1/g.Global.PriorPrecision)
}

// NoiseAware implements Spec. The posterior of noisy statistics counts their noise already; the
// variance is that of the parties that the sums counted.
func (s *Statistics) NoiseAware(p *protocol.Plan, trace []Revealed) (*bayes.Posterior, error) {
	trace = s.evaluation().trace(p, s.Statistics.Dim(), trace)
	if len(trace) == 0 {
		return nil, fmt.Errorf("no rounds: %w", bayes.ErrShape)
	}
	noise := 0.0
	for _, r := range trace {
		noise += r.noise(p) / float64(len(trace))
	}
	last := trace[len(trace)-1]
	state, err := s.Statistics.Fold(int(last.Round), last.Before, last.Sum)
	if err != nil {
		return nil, err
	}
	q, err := s.Statistics.Predictive(state, noise)
	if err != nil {
		return nil, err
	}
	if q, err = s.filled(q, state); err != nil {
		return nil, err
	}
	if p.Noise == protocol.NoiseNone {
		return q, nil
	}
	prior, err := s.Statistics.PriorOf(state, noise)
	if err != nil {
		return nil, err
	}
	longer, err := s.Statistics.Longer(state, noise)
	if err != nil {
		return nil, err
	}
	wide := q.Told(s.Statistics.Levels).Unshrunk(prior.Variance).Longer(prior.Variance, longer)
	wide = wide.Untold(s.untold(prior.Variance))
	return wide.WithWeights(q.Mean(), wide.SD()), nil
}

// untold is the largest variance that a prior with these has along a shift of a category's levels against the
// bias, given what is told. The means along it are those of the fit, which knows it.
func (s *Statistics) untold(prior []float64) float64 {
	most := 0.0
	for _, l := range s.Statistics.Levels {
		precision := 1 / prior[len(prior)-1]
		for _, v := range prior[l[0]:l[1]] {
			precision += 1 / v
		}
		most = max(most, float64(l[1]-l[0]+1)/precision)
	}
	return most
}
