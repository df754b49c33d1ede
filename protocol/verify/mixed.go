package verify

import (
	"choir/protocol"
	"choir/protocol/mix"
)

// mixed checks the transcript of a session with a mix-net; see mix.Verify.
func mixed(p *protocol.Plan, entries [][]byte, model protocol.Model) (*Report, error) {
	s := protocol.Bind(p)
	all, aborted, at, err := mix.Verify(s, entries)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", at, err)
	}
	r := &Report{Plan: s.ID, Models: [][]int64{model.Initial()}, session: s}
	for _, a := range all {
		done := Attempt{Round: a.Round, Attempt: a.Attempt, Outcome: a.Outcome}
		for _, i := range a.Parties {
			done.Set = append(done.Set, s.Name(i))
		}
		next := r.Model()
		if a.Outcome == protocol.OutcomeAccepted {
			done.Aggregate = a.Reports
			if next, err = model.Fold(a.Round, next, a.Reports); err != nil {
				return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: round %d: %w", a.Round, err)
			}
		}
		if a.Outcome != protocol.OutcomeVoid {
			r.Models = append(r.Models, next)
			r.Releases++
		}
		r.Attempts = append(r.Attempts, done)
	}
	if aborted != nil {
		r.Aborted = aborted.Error()
	}
	r.Stopped = aborted == nil && r.Rounds() < int(p.Rounds)
	charged := 0
	if n := len(all); n > 0 {
		charged = int(all[n-1].Round)
	}
	return r, r.spend(p, charged)
}
