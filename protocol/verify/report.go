package verify

import (
	"choir/protocol"
)

// Report is what a transcript proves.
type Report struct {
	Plan     protocol.PlanID
	Attempts []Attempt // in order; each was charged to the parties that took part in it
	Models   [][]int64 // Models[r] is the public model after r rounds, grid units
	Releases int       // sums that were revealed, accepted or rejected
	Audited  bool      // every revealed sum was opened against the parties' commitments
	Aborted  string    // why the aggregator ended the session early; empty if it completed
	// Stopped reports whether the record ends before the session does: the aggregator was stopped,
	// or the record's end was removed.
	Stopped bool
	// Fault is the first contradiction in the record of the attempt in which the session
	// ended; empty if there is none.
	Fault string

	// Claimed reports whether the plan claims an epsilon. If so, Epsilon, at Delta, is the cost
	// of all attempts, revealed or not, for a party that took part in all of them.
	Claimed bool
	Epsilon float64
	Delta   float64

	session protocol.BoundPlan
}

// Attempt is one attempt of a round.
type Attempt struct {
	Round     uint32
	Attempt   uint32
	Outcome   protocol.Outcome // 0: the session ended while the attempt was open
	Set       []string         // the parties that the sum counts, in roster order
	Uncounted []string         // parties with a contribution on record that is not in the set
	Aggregate []int64          // coordinates of the revealed sum, grid units; nil if there are none

	result *protocol.ResultProof // nil without a result
	set    []protocol.Entry
	holds  map[uint32]*protocol.Hold // by node
}

// Completed reports whether all of the plan's rounds were settled.
func (r *Report) Completed() bool { return r.Aborted == "" && !r.Stopped }

// Rounds returns the number of settled rounds.
func (r *Report) Rounds() int { return len(r.Models) - 1 }

// Model returns the public model at the end.
func (r *Report) Model() []int64 { return r.Models[len(r.Models)-1] }

// spend recomputes the cost of the attempts.
func (r *Report) spend(p *protocol.Plan) error {
	if _, ok := p.Release(); !ok {
		return nil
	}
	r.Claimed, r.Delta = true, p.Delta
	if len(r.Attempts) == 0 {
		return nil
	}
	b, _, err := p.Spends(len(r.Attempts))
	if err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "transcript: budget: %w", err)
	}
	if b.Epsilon > p.Epsilon {
		return protocol.Fail(protocol.ClassIntegrity, "transcript: budget: %d attempts spend epsilon %.6g of %.6g",
			len(r.Attempts), b.Epsilon, p.Epsilon)
	}
	r.Epsilon = b.Epsilon
	return nil
}
