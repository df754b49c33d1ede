package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/pvi"
	"choir/protocol"
)

// evaluated adds the rounds of an evaluation to those of an application that learns. A method
// without an evaluation is unchanged.
type evaluated struct{ *evaluate.Config }

// size is that of a sum which holds either kind of round.
func (e evaluated) size(dim int, bits uint8) (int, uint8) {
	if e.Config != nil {
		dim = max(dim, e.Dim())
	}
	return dim, bits
}

// mechanism covers the sums of scores: they have the sensitivity of the others, and may be longer.
func (e evaluated) mechanism(m pvi.Mechanism, err error) (pvi.Mechanism, error) {
	if e.Config == nil || err != nil {
		return m, err
	}
	switch {
	case m.Local:
		return m, fmt.Errorf("evaluation: the scores need noise on the sum, and the method's is each " +
			"party's own; leave [evaluation] out")
	case m.Sampling != "" && m.Sampling != pvi.SamplingNone:
		return m, fmt.Errorf("evaluation: the method's noise is for records that are drawn at rate %v, and "+
			"held-out records count in every evaluation: take a strategy without sampling, or sample_rate 1",
			m.SampleRate)
	}
	u := e.Unit(m.Sensitivity)
	if u < 1 {
		return m, fmt.Errorf("evaluation: a sensitivity of %d grid units is too coarse for scores: take a larger "+
			"clip", m.Sensitivity)
	}
	m.Dim, _ = e.size(m.Dim, 0)
	m.PerParty = max(m.PerParty, e.Reach(u))
	return m, nil
}

// unit of the scores, given the mechanism of the method that learns. Without a clip it is 1.
func (e evaluated) unit(m pvi.Mechanism, err error, fracBits uint8) (int64, error) {
	if errors.Is(err, pvi.ErrUnbounded) {
		return 1 << fracBits, nil
	}
	return e.Unit(m.Sensitivity), err
}

// check returns an error unless the terms suit the plan and the schema.
func (e evaluated) check(rounds uint32, schema *dataset.Schema, model bayes.Model) error {
	if e.Config == nil {
		return nil
	}
	if err := e.Validate(); err != nil {
		return err
	}
	switch {
	case rounds < 2:
		return fmt.Errorf("evaluation: the plan has %d round, want 2 or more: one to learn and one to evaluate",
			rounds)
	case schema.Missing == dataset.Drop:
		return fmt.Errorf("evaluation: the schema drops records with missing values, which would move others " +
			"between learning and evaluation: missing must be zero or refuse")
	case model == bayes.External:
		return fmt.Errorf("evaluation: model external predicts only in its program; leave [evaluation] out")
	}
	return nil
}

// model is the public side of an application that learns.
func (e evaluated) model(rounds uint32, dim int, m protocol.Model) protocol.Model {
	if e.Config == nil {
		return m
	}
	return scored{m, e, int(rounds), dim}
}

// scored leaves the model as it is in rounds that evaluate.
type scored struct {
	protocol.Model
	evaluated
	rounds, dim int // in all; of an update
}

// learning is the number of a round among those that learn.
func (e evaluated) learning(round uint32, rounds int) uint32 {
	return round - uint32(e.Before(int(round), rounds))
}

// Fold implements protocol.Model.
func (s scored) Fold(round uint32, state, sum []int64) ([]int64, error) {
	if len(sum) < s.dim {
		return nil, fmt.Errorf("fold of round %d: %w", round, bayes.ErrShape)
	}
	if s.At(int(round), s.rounds) {
		return state, nil
	}
	return s.Model.Fold(s.learning(round, s.rounds), state, sum[:s.dim])
}

// trace is what the rounds that learn revealed, counted among themselves.
func (e evaluated) trace(p *protocol.Plan, dim int, all []Revealed) []Revealed {
	if e.Config == nil {
		return all
	}
	var out []Revealed
	for _, r := range all {
		rounds := int(r.plan(p).AllRounds())
		if !e.At(int(r.Round), rounds) {
			r.Round = e.learning(r.Round, rounds)
			r.Sum = r.Sum[:dim]
			out = append(out, r)
		}
	}
	return out
}

// join holds records out of what a party learns from, and evaluates on them. learner makes
// the party's side of the method that learns, whose plan has only the rounds that learn.
func (e evaluated) join(c PartyConfig, a Spec, learner func(PartyConfig) (Party, error)) (Party, error) {
	if e.Config == nil {
		return learner(c)
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	train, held := e.Split(c.Data)
	all := scoredParty{evaluated: e, exporter: exporter{app: a, plan: c.Plan}, held: held,
		target: targetOf(schema)}
	c.Data = train
	if all.Party, err = learner(c); err != nil {
		return nil, err
	}
	all.u, err = unitOf(a)
	return all, err
}

// scoredParty is a party's side with rounds that evaluate.
type scoredParty struct {
	Party
	evaluated
	exporter
	held   bayes.Data
	target evaluate.Target
	u      int64
}

// Initial implements protocol.Model.
func (p scoredParty) Initial() []int64 { return p.app.Model(p.plan).Initial() }

// Fold implements protocol.Model.
func (p scoredParty) Fold(round uint32, state, sum []int64) ([]int64, error) {
	return p.app.Model(p.plan).Fold(round, state, sum)
}

// Settle implements protocol.Application.
func (p scoredParty) Settle(round uint32, state, memo []byte) ([]byte, error) {
	if p.At(int(round), int(p.plan.AllRounds())) {
		return state, nil
	}
	return p.Party.Settle(p.learning(round, int(p.plan.AllRounds())), state, memo)
}

// Propose implements protocol.Proposer.
func (p scoredParty) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	rounds := int(p.plan.AllRounds())
	if !p.At(int(w.Round), rounds) {
		w.Round = p.learning(w.Round, rounds)
		update, memo, err := p.Party.Propose(ctx, w)
		return append(update, make([]int64, int(p.plan.Dim)-len(update))...), memo, err
	}
	sum := make([]int64, p.plan.Dim)
	q, err := p.exported(w)
	if err != nil {
		return nil, nil, err
	}
	return sum, []byte{}, p.Sum(sum, q, p.held, p.target, p.u)
}

// exporter knows what a session would export, by the sums that a party keeps.
type exporter struct {
	app    Spec
	plan   *protocol.Plan
	before []Revealed // in the predecessors of a successor plan
}

// exported is the posterior that the session would export if it ended now: the noise-aware one, where
// there is one.
func (p exporter) exported(w protocol.Work) (*bayes.Posterior, error) {
	if q, ok := p.aware(w); ok {
		return q, nil
	}
	return p.app.Posterior(p.plan, w.Model)
}

// aware is the posterior that knows its noise before a round; false where there is none yet.
func (p exporter) aware(w protocol.Work) (*bayes.Posterior, bool) {
	trace := slices.Clone(p.before)
	for _, o := range w.Opened {
		trace = append(trace, Revealed{Round: o.Round, Counted: o.Counted, Set: o.Set, Before: o.Before,
			Sum: o.Sum})
	}
	if !KeepsSums(p.plan) || len(trace) == 0 {
		return nil, false
	}
	q, err := p.app.NoiseAware(p.plan, trace)
	return q, err == nil
}

// KeepsSums reports whether parties keep the sums of all rounds: what the noise on them tells of the
// posterior is in the exported one, which evaluations score and whose residuals are summed.
func KeepsSums(p *protocol.Plan) bool {
	if p.Noise == protocol.NoiseNone || p.Application == NameSum {
		return false
	}
	a, err := Of(p)
	if l, ok := a.(*PVI); ok && l.PVI.ResidualFrom > 0 && l.PVI.Strategy.Params().Optimiser != pvi.Newton {
		return true
	}
	return err == nil && EvaluationOf(a) != nil
}

func targetOf(s *dataset.Schema) evaluate.Target {
	if s.Classification() {
		return evaluate.Target{Binary: true}
	}
	r := s.Target.Numeric
	return evaluate.Target{Half: (r.Hi - r.Lo) / r.Scale / 2}
}

// inner is the method of an application that learns, without its evaluation.
type inner interface {
	evaluation() evaluated
	innerSize() (dim int, fracBits uint8)
	innerMechanism() (pvi.Mechanism, error)
}

func unitOf(a Spec) (int64, error) {
	i := a.(inner)
	m, err := i.innerMechanism()
	_, bits := i.innerSize()
	return i.evaluation().unit(m, err, bits)
}

// EvaluationOf returns an application's evaluation; nil if it has none.
func EvaluationOf(a Spec) *evaluate.Config {
	if i, ok := a.(inner); ok {
		return i.evaluation().Config
	}
	return nil
}

// ProtectsParties reports whether the terms of rounds that learn are no further apart for two data sets of a
// party than for two records.
func ProtectsParties(a Spec) bool {
	l, ok := a.(*PVI)
	if !ok {
		return false
	}
	m, err := l.innerMechanism()
	if err != nil {
		return false
	}
	whole, err := l.PVI.Sensitivity(pvi.ReplaceParty)
	return err == nil && whole <= m.Sensitivity
}

// Evaluations are the scores that the rounds of a trace revealed, in the order of the rounds;
// RMSE is in the target's own unit, and so is the density of the log-likelihood.
func Evaluations(p *protocol.Plan, a Spec, trace []Revealed) ([]evaluate.Point, error) {
	e := EvaluationOf(a)
	if e == nil {
		return nil, nil
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	u, err := unitOf(a)
	if err != nil {
		return nil, err
	}
	target := targetOf(schema)
	var out []evaluate.Point
	for _, r := range trace {
		if !e.At(int(r.Round), int(r.plan(p).AllRounds())) {
			continue
		}
		point, err := e.Estimate(r.Sum, r.noise(p), target, u)
		if err != nil {
			return nil, err
		}
		point.Round, point.Parties = int(r.Round), r.Counted
		if n := schema.Target.Numeric; n != nil {
			point = point.In(n.Scale)
		}
		out = append(out, point)
	}
	return out, nil
}

// Evaluate gives an application that learns an evaluation. It reports whether it can have one.
func Evaluate(a Spec, c *evaluate.Config) bool {
	switch a := a.(type) {
	case *PVI:
		a.Evaluation = c
	case *GlobalVI:
		a.Evaluation = c
	case *Statistics:
		a.Evaluation = c
	default:
		return false
	}
	return true
}
