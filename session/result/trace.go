package result

import (
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// Trace returns what a session's accepted rounds revealed, from the entries of an aggregator's
// own transcript. It checks that the sums lead to the public states that the results
// announce; choir verify checks the rest.
func Trace(s protocol.BoundPlan, entries [][]byte) ([]app.Revealed, error) {
	model, err := app.NewModel(s.Plan)
	if err != nil {
		return nil, err
	}
	var trace []app.Revealed
	state := model.Initial()
	sum, keys := make(field.Vector, s.Plan.Dim), protocol.NewDigestKeys(protocol.DigestSecret{})
	for i, entry := range entries {
		if d, ok := protocol.ParseTranscriptSecret(entry); ok {
			keys = protocol.NewDigestKeys(d)
			continue
		}
		if v, _, ok := protocol.ParseTranscriptVector(entry, int(s.Plan.Dim)); ok {
			sum.Add(v)
			continue
		}
		if len(entry) == 0 || protocol.Kind(entry[0]) != protocol.KindResult {
			continue
		}
		_, m, err := s.Receive(entry)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", i, err)
		}
		res := m.(*protocol.Result)
		if res.Outcome == protocol.OutcomeAccepted {
			r := app.Revealed{Round: res.Round, Counted: len(res.Set), Before: state, Sum: make([]int64, len(sum))}
			fixedpoint.FromField(r.Sum, sum)
			if state, err = model.Fold(r.Round, r.Before, r.Sum); err != nil {
				return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", i, err)
			}
			trace = append(trace, r)
		}
		if res.Outcome != protocol.OutcomeVoid &&
			protocol.IntDigest(keys.Key(res.Round), state) != res.Next {
			return nil, protocol.Fail(protocol.ClassIntegrity,
				"transcript: entry %d: %w: the sums don't lead to the model that was announced", i,
				protocol.ErrMismatch)
		}
		sum = make(field.Vector, s.Plan.Dim)
	}
	return trace, nil
}

// verifiedTrace is Trace of a verified transcript.
func verifiedTrace(r *verify.Report) []app.Revealed {
	var trace []app.Revealed
	settled := 0
	for _, a := range r.Attempts {
		if a.Outcome == protocol.OutcomeAccepted {
			trace = append(trace, app.Revealed{Round: a.Round, Counted: len(a.Set), Before: r.Models[settled],
				Sum: a.Aggregate})
		}
		if a.Outcome == protocol.OutcomeAccepted || a.Outcome == protocol.OutcomeRejected {
			settled++
		}
	}
	return trace
}
