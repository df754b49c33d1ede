package verify

import (
	"choir/protocol"
)

// Report is what a transcript proves.
type Report struct {
	Plan     protocol.PlanID
	Attempts []Attempt // in order; every one was charged to the parties that took part
	Models   [][]int64 // Models[r] is the public model after r rounds, grid units; Models[0] before the first
	Releases int       // sums that were revealed: accepted or rejected
	Audited  bool      // every revealed sum was opened against the parties' commitments
	Aborted  string    // why the aggregator ended the session early, empty for one that completed
	Fault    string    // what doesn't hold in the record of the attempt that it ended in; empty when nothing on record contradicts anything

	// Claimed says that the plan claims an epsilon. Then Epsilon, at Delta, is what
	// a party that took part in all attempts has spent of it, revealed or not.
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
	Uncounted []string         // parties whose contribution is on record but not in the set
	Aggregate []int64          // the revealed sum, grid units; nil when nothing was revealed, or nothing that is coordinates

	set   []protocol.Entry
	holds map[uint32]*protocol.Hold // by node
}

// Completed reports that the session went through all of the plan's rounds.
func (r *Report) Completed() bool { return r.Aborted == "" }

// Rounds is how many rounds were settled.
func (r *Report) Rounds() int { return len(r.Models) - 1 }

// Model is the public model at the end.
func (r *Report) Model() []int64 { return r.Models[len(r.Models)-1] }

// spend recomputes what the attempts cost.
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
		return protocol.Fail(protocol.ClassIntegrity, "transcript: budget: %d attempts spend epsilon %.6g of %.6g", len(r.Attempts), b.Epsilon, p.Epsilon)
	}
	r.Epsilon = b.Epsilon
	return nil
}
