package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"choir/learn/pvi"
	"choir/protocol"
)

// GoesOn returns an error for a plan whose application has no successors.
func GoesOn(q *protocol.Plan) error {
	switch q.Application {
	case NamePVI, NameGlobal, NameStatistics:
	default:
		return fmt.Errorf("the application %q has no successor plans: make a new plan", q.Application)
	}
	a, err := Of(q)
	if err != nil {
		return err
	}
	if l, ok := a.(*PVI); ok {
		if name := l.PVI.Strategy.Name(); name == pvi.NameBCMSame || name == pvi.NameBCMSplit {
			return fmt.Errorf("a committee (%s) has one round and no successor: make a new plan", name)
		}
	}
	return nil
}

// checkSuccessor checks that a successor plan's application goes on from its predecessor's: the same
// method with the same parameters, but for what follows from the roster.
func checkSuccessor(p *protocol.Plan, a Spec) error {
	if p.After == nil {
		return nil
	}
	q := p.After.Plan
	if err := GoesOn(q); err != nil {
		return fmt.Errorf("predecessor: %w", err)
	}
	before, err := Of(q)
	if err != nil {
		return fmt.Errorf("predecessor: %w", err)
	}
	if n := CentreRounds(a); q.After == nil && n > int(p.After.Round) {
		return fmt.Errorf("the predecessor stopped before its %d centre_rounds were over: make a new plan", n)
	}
	switch a := a.(type) {
	case *PVI:
		b := *before.(*PVI)
		if err := a.follows(p, &b); err != nil {
			return err
		}
		b.Weights = a.Weights
		b.Records = a.Records
		before = &b
	case *GlobalVI:
	case *Statistics:
		if !p.SameParties(q) || p.Variance != q.Variance {
			return fmt.Errorf("the statistics of all rounds are added, so a successor must have the same parties " +
				"and the same noise; make a new plan")
		}
	}
	if e := EvaluationOf(a); e != nil {
		for r := 1; r <= int(p.RoundsBefore()); r++ {
			if e.At(r, int(p.AllRounds())) != e.At(r, int(q.AllRounds())) {
				return fmt.Errorf("evaluation: the predecessor has evaluated in round %d of %d, by its number of "+
					"rounds; with %d in all that is another round: make a new plan", r, q.AllRounds(), p.AllRounds())
			}
		}
	}
	return sameParameters(a, before)
}

// follows checks what a successor of partitioned inference needs besides the same parameters.
func (l *PVI) follows(p *protocol.Plan, before *PVI) error {
	q := p.After.Plan
	if l.PVI.Strategy.Params().ShardPower == 0 {
		return nil
	}
	for i, m := range p.Members[:p.Parties()] {
		if j, ok := q.Index(m.Key); ok && q.Is(j, protocol.RoleParty) && l.Weights[i] != before.Weights[j] {
			return fmt.Errorf("weights: the number of %s's shards follows from its weight, which must stay %v",
				m.Name, before.Weights[j])
		}
	}
	return nil
}

// first is the plan that a chain of plans began with.
func first(p *protocol.Plan) *protocol.Plan {
	for p.After != nil {
		p = p.After.Plan
	}
	return p
}

func sameParameters(a, b Spec) error {
	x, err := a.Marshal()
	if err != nil {
		return err
	}
	y, err := b.Marshal()
	if err != nil {
		return err
	}
	if !bytes.Equal(x, y) {
		return fmt.Errorf("they differ from the predecessor's, whose model and factors go on")
	}
	return nil
}

// From returns a plan's model that begins with the predecessor's model; nil keeps the initial one.
func From(p *protocol.Plan, m protocol.Model, origin []int64) (protocol.Model, error) {
	if p.After == nil {
		return m, nil
	}
	if want := len(m.Initial()); origin != nil && len(origin) != want {
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"the predecessor's model has %d numbers, the plan's application has %d", len(origin), want)
	}
	if g, ok := m.(goingOn); ok {
		m = g.Model
	}
	return goingOn{m, p.RoundsBefore(), origin}, nil
}

// goingOn is a successor's model.
type goingOn struct {
	protocol.Model
	before uint32
	origin []int64
}

// Initial implements protocol.Model.
func (g goingOn) Initial() []int64 {
	if g.origin == nil {
		return g.Model.Initial()
	}
	return slices.Clone(g.origin)
}

// Fold implements protocol.Model.
func (g goingOn) Fold(round uint32, state, sum []int64) ([]int64, error) {
	return g.Model.Fold(g.before+round, state, sum)
}

// Resume returns a party's side of a successor plan, from the predecessor's model and the state that
// the party had there; nil is the state of a party that joins. before is what the rounds of all
// predecessors revealed, which evaluations and residual rounds use.
func Resume(p *protocol.Plan, side Party, origin []int64, state []byte, before []Revealed) (Party, error) {
	side = knowing(side, before)
	m, err := From(p, side, origin)
	if err != nil {
		return nil, err
	}
	fresh := side.InitialState()
	if state == nil {
		state = fresh
	}
	if len(state) != len(fresh) {
		return nil, protocol.Fail(protocol.ClassInput,
			"data: the factors under the predecessor have %d bytes, those "+
				"of this file would have %d: it must have the same records in the same order", len(state), len(fresh))
	}
	return &resumed{m.(goingOn), side, state}, nil
}

// knowing is a party's side that knows what was revealed before.
func knowing(side Party, before []Revealed) Party {
	switch s := side.(type) {
	case scoredParty:
		s.before = before
		s.Party = knowing(s.Party, before)
		return s
	case *pviParty:
		if s.export != nil {
			s.export.before = before
		}
	}
	return side
}

// resumed is a party's side of a successor plan.
type resumed struct {
	goingOn
	side  Party
	state []byte
}

// InitialState implements protocol.Application.
func (r *resumed) InitialState() []byte { return slices.Clone(r.state) }

// Settle implements protocol.Application.
func (r *resumed) Settle(round uint32, state, memo []byte) ([]byte, error) {
	return r.side.Settle(r.before+round, state, memo)
}

// Propose implements protocol.Proposer.
func (r *resumed) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	w.Round += r.before
	w.Opened = slices.Clone(w.Opened)
	for i := range w.Opened {
		w.Opened[i].Round += r.before
	}
	return r.side.Propose(ctx, w)
}
