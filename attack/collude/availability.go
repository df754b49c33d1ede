package collude

import (
	"context"
	"fmt"
	"time"

	"choir/protocol"
)

// patience is how long the aggregator waits in a session that dishonest members stop.
const patience = 2 * time.Second

// ownWords leaves out what a member itself signed: a liar's machine would stop at it.
func ownWords(member uint32, data []byte) bool {
	e, err := protocol.UnmarshalEnvelope(data)
	return err != nil || e.From != member
}

// resigned changes a signed message of one kind and signs it again; others stay as they are.
func resigned[M protocol.Message](r *record, m message, change func(M)) []message {
	e, err := protocol.UnmarshalEnvelope(m.Data)
	if err != nil || e.From != m.From {
		return []message{m}
	}
	msg, err := protocol.Decode(e)
	signed, ok := msg.(M)
	if err != nil || !ok {
		return []message{m}
	}
	change(signed)
	b, err := r.session.Sign(r.keys[m.From], m.From, signed)
	if err != nil {
		return []message{m}
	}
	m.Data = b
	return []message{m}
}

// emptyLists lets the first compute node list no party, which makes an attempt void, in the attempts up
// to last.
func emptyLists(last uint32) staging {
	return staging{giveUp: patience,
		says: func(r *record, m message) []message {
			if m.From != r.session.Plan.Compute(0) {
				return []message{m}
			}
			return resigned(r, m, func(h *protocol.Hold) {
				if h.Attempt <= last {
					h.Entries = nil
				}
			})
		},
		hears: func(r *record, member uint32, data []byte) bool {
			return member != r.session.Plan.Compute(0) || ownWords(member, data)
		}}
}

// burn makes every attempt void.
type burn struct{}

// burnSpares are the spare attempts of the session.
const burnSpares = 3

// Info implements Attack.
func (burn) Info() Info {
	return Info{ID: "burn", Kind: "break",
		What:     "a compute node that makes every attempt void: how many attempts an honest party pays for",
		Needs:    "a compute node",
		Promise:  "open attempts without need (each costs the parties budget, at most what the plan allows)",
		Expected: Held, Control: "the same session, held to no attempt at all"}
}

// Run implements Attack.
func (burn) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	paid, most := 0.0, 0.0
	out := Outcome{Coalition: c.String(), Unit: "attempts paid", Verdict: Undecided, Measured: &paid,
		Claimed: &most}
	if c.Nodes == 0 && !control {
		return nothingSeen(out), nil
	}
	t := r.Target
	t.Rounds = 1
	s := emptyLists(1 + burnSpares)
	s.spares = burnSpares
	rec, err := r.record(ctx, "burn", t, restoredDim, s,
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
	if err != nil {
		return out, err
	}
	paid = float64(rec.count(0, protocol.NoteContributed))
	if !control {
		most = float64(rec.session.Plan.Releases())
	}
	out.Verdict = atMost(paid, most, true)
	out.Story = []string{fmt.Sprintf("the plan has 1 round and %d spare attempts; the victim contributed to "+
		"%.0f attempts, all of them void", burnSpares, paid), ended(rec)}
	return out, nil
}

// ended tells how a session ended.
func ended(r *record) string {
	if r.end == nil {
		return "the session ended with its last round"
	}
	return "the session ended: " + r.end.Error()
}

// retries subtracts the attempts of a round from each other.
type retries struct{}

// Info implements Attack.
func (retries) Info() Info {
	return Info{ID: "retries", Kind: "leak",
		What: "a compute node makes the first attempt of a round void, so that all parties contribute again: how " +
			"many combinations of honest contributions the view of all attempts determines",
		Needs: "a compute node", Promise: promiseUpdates, Expected: Held,
		Control: "all compute nodes together"}
}

// Run implements Attack.
func (retries) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if control {
		c.Nodes, c.Aggregator = r.Target.Nodes, true
	}
	found, one := 0.0, 1.0
	out := Outcome{Coalition: c.String(), Unit: "combinations a round", Measured: &found, Claimed: &one}
	if c.Nodes == 0 {
		return nothingSeen(out), nil
	}
	t := r.Target
	t.Rounds = 1
	s := emptyLists(1)
	s.spares = 1
	rec, err := r.record(ctx, "retries", t, restoredDim, s,
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
	if err != nil {
		return out, err
	}
	v, err := rec.view(c, nil)
	if err != nil {
		return out, err
	}
	for attempt := range uint32(2) {
		v.pinned = attempt + 1
		n := v.rank(1)
		found += float64(n)
		out.Story = append(out.Story, fmt.Sprintf("attempt %d: %d combinations", v.pinned, n))
	}
	out.Story = append(out.Story, ended(rec))
	out.Verdict = atMost(found, one, control || c.Nodes < r.Target.Nodes)
	return out, nil
}

// stop lets a member fall silent.
type stop struct{}

// stopRounds are the rounds of the session; the member is silent from the second one on.
const stopRounds = 3

// Info implements Attack.
func (stop) Info() Info {
	return Info{ID: "stop", Kind: "break",
		What: "one member of the coalition falls silent after the first of three rounds, a compute node if there " +
			"is one, then the aggregator, then a party: how many rounds are lost",
		Needs:    "a compute node, the aggregator, or a party of a plan that allows no drop-outs",
		Promise:  "that the session ends when members refuse to go on",
		Expected: NotPromised, Control: "a silent compute node, judged as if the session had to go on"}
}

// Run implements Attack.
func (stop) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	lost, none := 0.0, 0.0
	out := Outcome{Coalition: c.String(), Unit: "rounds lost", Measured: &lost, Claimed: &none}
	t := r.Target
	t.Rounds = stopRounds
	var name string
	var who func(p *protocol.Plan) uint32
	switch {
	case c.Nodes > 0 || control:
		name, who = "node", func(p *protocol.Plan) uint32 { return p.Compute(0) }
	case c.Aggregator:
		name, who = "aggregator", (*protocol.Plan).Aggregator
	case c.Parties > 0 && t.MinParties == t.Parties:
		name, who = "party", func(p *protocol.Plan) uint32 { return uint32(p.Parties() - 1) }
	default:
		return nothingSeen(out), nil
	}
	s := staging{giveUp: patience, says: func(r *record, m message) []message {
		if m.From == who(r.session.Plan) && r.count(m.From, protocol.NoteResult) > 0 {
			return nil
		}
		return []message{m}
	}}
	rec, err := r.record(ctx, "stop "+name, t, restoredDim, s,
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
	if err != nil {
		return out, err
	}
	lost = float64(stopRounds - rec.count(0, protocol.NoteResult))
	out.Verdict = atMost(lost, none, control || lost == 0)
	out.Story = []string{fmt.Sprintf("a silent %s: %.0f of %d rounds lost", name, lost, stopRounds), ended(rec)}
	return out, nil
}
