package result

import (
	"slices"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// tracer follows what a transcript reveals.
type tracer struct {
	s     protocol.BoundPlan
	model protocol.Model
	limit protocol.SumLimit
	keys  *protocol.DigestKeys
	sum   field.Vector
	state []int64
	trace []app.Revealed
}

// Trace returns what a session's accepted rounds revealed, from the entries of an aggregator's
// own transcript. It checks that the sums lead to the public states that the results
// announce; choir verify checks the rest.
func Trace(s protocol.BoundPlan, entries [][]byte) ([]app.Revealed, error) {
	if s.Plan.Mixes() { // what was revealed is reports, from which nothing but the counts follows
		return nil, nil
	}
	model, err := app.NewModel(s.Plan)
	if err != nil {
		return nil, err
	}
	t := &tracer{s: s, model: model, state: model.Initial(), sum: make(field.Vector, s.Plan.Elements()),
		keys: protocol.NewDigestKeys(protocol.DigestSecret{})}
	if t.limit, err = s.Plan.MaxSum(); err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if err := t.read(entry); err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", i, err)
		}
	}
	return t.trace, nil
}

func (t *tracer) read(entry []byte) error {
	if d, ok := protocol.ParseTranscriptSecret(entry); ok {
		t.keys = protocol.NewDigestKeys(d)
		return nil
	}
	if v, _, ok := protocol.ParseTranscriptVector(entry, t.s.Plan.Elements()); ok {
		t.sum.Add(v)
		return nil
	}
	if protocol.IsOrigin(entry) {
		o, err := t.s.Plan.OpenOrigin(entry)
		if err == nil {
			t.state = o.Model
		}
		return err
	}
	if len(entry) == 0 || protocol.Kind(entry[0]) != protocol.KindResult {
		return nil
	}
	_, m, err := t.s.Receive(entry)
	if err != nil {
		return err
	}
	return t.result(m.(*protocol.Result))
}

func (t *tracer) result(res *protocol.Result) error {
	if res.Outcome == protocol.OutcomeAccepted {
		elements := make([]int64, len(t.sum))
		fixedpoint.FromField(elements, t.sum)
		sum, err := t.s.Plan.OpenSum(elements, t.limit)
		if err != nil {
			return err
		}
		t.trace = append(t.trace, app.Revealed{Round: t.s.Plan.RoundsBefore() + res.Round,
			Counted: len(res.Set), Set: protocol.Parties(res.Set), Before: t.state, Sum: sum})
		if t.state, err = t.model.Fold(res.Round, t.state, sum); err != nil {
			return err
		}
	}
	if res.Outcome != protocol.OutcomeVoid &&
		protocol.IntDigest(t.keys.Key(res.Round), t.state) != res.Next {
		return protocol.Fail(protocol.ClassIntegrity, "%w: the sums don't lead to the model that was announced",
			protocol.ErrMismatch)
	}
	clear(t.sum)
	return nil
}

// verifiedTrace is Trace of a verified transcript and of those of all its predecessors; nil if one of
// those is not here.
func verifiedTrace(p *protocol.Plan, r *verify.Report) []app.Revealed {
	var trace []app.Revealed
	if a := p.After; a != nil {
		if r.Before == nil {
			return nil
		}
		trace = Under(a.Plan, verifiedTrace(a.Plan, r.Before))
		if trace == nil {
			return nil
		}
	}
	settled, at := 0, places(p)
	for _, a := range r.Attempts {
		if a.Outcome == protocol.OutcomeAccepted {
			trace = append(trace, app.Revealed{Round: p.RoundsBefore() + a.Round, Counted: len(a.Set),
				Set: at(a.Set), Before: r.Models[settled], Sum: a.Aggregate})
		}
		if a.Outcome == protocol.OutcomeAccepted || a.Outcome == protocol.OutcomeRejected {
			settled++
		}
	}
	return trace
}

// places finds the parties of a plan with the names.
func places(p *protocol.Plan) func(names []string) []int {
	s, place := protocol.Bind(p), map[string]int{}
	for i := range p.Parties() {
		place[s.Name(uint32(i))] = i
	}
	return func(names []string) (parties []int) {
		for _, name := range names {
			parties = append(parties, place[name])
		}
		return parties
	}
}

// Under enters a plan in those rounds of a trace that name none.
func Under(p *protocol.Plan, trace []app.Revealed) []app.Revealed {
	trace = slices.Clone(trace)
	for i := range trace {
		if trace[i].Plan == nil {
			trace[i].Plan = p
		}
	}
	return trace
}
