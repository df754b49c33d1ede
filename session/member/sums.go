package member

import (
	"choir/host"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
)

// partyTrace is what the rounds of a plan and of its predecessors revealed, by a party's store; nil if
// the store does not have all of it.
func partyTrace(store *host.Scoped, p *protocol.Plan) ([]app.Revealed, error) {
	if !app.KeepsSums(p) {
		return nil, nil
	}
	before, err := traceBefore(store, p)
	if err != nil || before == nil && p.After != nil {
		return nil, err
	}
	own, err := ownTrace(store, p)
	return append(before, own...), err
}

// ownTrace is what the rounds of a plan revealed, by its scope of a party's store.
func ownTrace(store protocol.View, p *protocol.Plan) ([]app.Revealed, error) {
	m, err := app.NewModel(p)
	if err != nil {
		return nil, err
	}
	if p.After != nil {
		o, err := p.OpenOrigin(store.Get(originKey))
		if err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "store: %w", err)
		}
		if m, err = app.From(p, m, o.Model); err != nil {
			return nil, err
		}
	}
	sums, err := protocol.OpenedSums(store, m)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "store: %w", err)
	}
	trace := make([]app.Revealed, len(sums))
	for i, o := range sums {
		trace[i] = app.Revealed{Round: p.RoundsBefore() + o.Round, Counted: o.Counted, Set: o.Set,
			Before: o.Before, Sum: o.Sum}
	}
	return trace, nil
}

// traceBefore is what the rounds of a plan's predecessors revealed: by the records that the party was
// given, or by what it has of them in its store; nil if that is not all.
func traceBefore(store *host.Scoped, p *protocol.Plan) ([]app.Revealed, error) {
	if p.After == nil {
		return nil, nil
	}
	q := p.After.Plan
	if records := storedBefore(store); len(records) > 0 {
		entries, err := protocol.UnmarshalTranscript(records[0].Transcript)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "store: %w", err)
		}
		trace, err := result.ChainTrace(protocol.Bind(q), entries, records[1:])
		return result.Under(q, trace), err
	}
	view := scopeOf(store.Store, q)
	if settled(protocol.Bind(q), view) != p.After.Round {
		return nil, nil
	}
	trace, err := partyTrace(view, q)
	return result.Under(q, trace), err
}

// exportedBefore is traceBefore for a plan whose parties know the exported posterior, which can't do without.
func (m *Member) exportedBefore(store *host.Scoped) ([]app.Revealed, error) {
	p := m.Session.Plan
	if !app.KeepsSums(p) {
		return nil, nil
	}
	trace, err := traceBefore(store, p)
	if err == nil && trace == nil {
		err = protocol.Fail(protocol.ClassInput, "config: origin: rounds of the plan go by the model that it "+
			"exports, which counts the noise of all rounds, and the store does not have all of plan %s: "+
			"name the folder of that plan's results, with its transcript", p.After.Plan.ID().Short())
	}
	return trace, err
}
