package verify

import (
	"slices"

	"choir/protocol"
)

// Report is what a transcript proves.
type Report struct {
	Plan     protocol.PlanID
	Attempts []Attempt // in order; each, or with a mix-net each round, was charged to the parties that took part
	// Models[r] is the public model after r rounds, grid units; Models[0] is nil if that is all zeros and the
	// record has no sum.
	Models   [][]int64
	Releases int    // sums that were revealed, accepted or rejected
	Audited  bool   // every revealed sum was opened against the parties' commitments
	Aborted  string // why the aggregator ended the session early; empty if it completed
	// Stopped reports whether the record ends before the session does: the aggregator was stopped,
	// or the record's end was removed.
	Stopped bool
	// Unconfirmed reports whether the last sum's result lacks the Confirm of a node. Without audit the
	// aggregator and one node can record any such sum, after the others have revealed.
	Unconfirmed bool
	// Fault is the first contradiction in the record of the attempt in which the session
	// ended; empty if there is none.
	Fault string

	// Claimed reports whether the plan claims an epsilon. If so, Epsilon, at Delta, is the cost
	// of all attempts, revealed or not, for a party that took part in all of them and in those of
	// the plan's predecessors.
	Claimed bool
	Epsilon float64
	Delta   float64

	// Before is the report of the predecessor's transcript, if that is here too: see Follow.
	Before *Report

	session protocol.BoundPlan
	initial func() []int64 // the model before round 1
}

// Attempt is one attempt of a round.
type Attempt struct {
	Round     uint32
	Attempt   uint32
	Outcome   protocol.Outcome // 0: the session ended while the attempt was open
	Set       []string         // the parties that the sum counts, or that sent onions, in roster order
	Uncounted []string         // parties with a contribution on record that is not in the set
	Aggregate []int64          // coordinates of the revealed sum, grid units, or the reports; nil: none

	result *protocol.ResultProof // nil without a result
	set    []protocol.Entry
	holds  map[uint32]*protocol.Hold // by node
}

// Counts reports whether the attempt's sum was accepted and counts a party.
func (a *Attempt) Counts(party string) bool {
	return a.Outcome == protocol.OutcomeAccepted && slices.Contains(a.Set, party)
}

// Completed reports whether all of the plan's rounds were settled.
func (r *Report) Completed() bool { return r.Aborted == "" && !r.Stopped }

// Mixed reports whether a mix-net carried the reports.
func (r *Report) Mixed() bool { return r.session.Plan.Mixes() }

// Rounds returns the number of settled rounds.
func (r *Report) Rounds() int { return len(r.Models) - 1 }

// Model returns the public model at the end. It makes that of a record without a sum.
func (r *Report) Model() []int64 {
	if last := r.Models[len(r.Models)-1]; last != nil {
		return last
	}
	return r.initial()
}

// After returns the id of the plan that the session's goes on from, if any.
func (r *Report) After() (id protocol.PlanID, ok bool) {
	if a := r.session.Plan.After; a != nil {
		return a.Plan.ID(), true
	}
	return id, false
}

// Follow checks that a successor plan's transcript goes on from where its predecessor's ends, and
// enters it in Before. The digest of the model has been checked with the transcript.
func (r *Report) Follow(before *Report) error {
	a := r.session.Plan.After
	switch {
	case a == nil || before.Plan != a.Plan.ID():
		return protocol.Fail(protocol.ClassIntegrity, "predecessor: %w: plan %s is not the predecessor",
			protocol.ErrWrongPlan, before.Plan.Short())
	case before.Rounds() != int(a.Round):
		return protocol.Fail(protocol.ClassIntegrity,
			"predecessor: %w: its record ends after round %d, the successor "+
				"goes on from round %d", protocol.ErrMismatch, before.Rounds(), a.Round)
	case len(before.Attempts) > int(a.Attempts):
		return protocol.Fail(protocol.ClassIntegrity, "predecessor: %w: %d attempts are on record, the successor "+
			"counts %d", protocol.ErrMismatch, len(before.Attempts), a.Attempts)
	case !slices.Equal(before.Model(), r.Models[0]):
		return protocol.Fail(protocol.ClassIntegrity, "predecessor: %w: its record leads to another model",
			protocol.ErrMismatch)
	}
	r.Before = before
	return nil
}

// spend recomputes the cost of the attempts that are charged.
func (r *Report) spend(p *protocol.Plan, attempts int) error {
	if !p.Claims() {
		return nil
	}
	r.Claimed, r.Delta = true, p.Delta
	b, _, err := p.Spends(attempts)
	if err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "transcript: budget: %w", err)
	}
	if b.Epsilon > p.Epsilon {
		return protocol.Fail(protocol.ClassIntegrity, "transcript: budget: %d attempts spend epsilon %.6g of %.6g",
			attempts, b.Epsilon, p.Epsilon)
	}
	r.Epsilon = b.Epsilon
	return nil
}
