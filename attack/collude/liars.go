package collude

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"choir/attack/simulate"
	"choir/protocol"
)

// liarSessions is how many sessions of a run have a coalition all of whose members lie at the same time.
const liarSessions = 6

// liars alters, drops and doubles messages of the coalition's members, which they sign.
type liars struct {
	mu  sync.Mutex
	rng *rand.Rand
	in  map[uint32]bool // nil until the session's plan is known
	c   Coalition
	n   int // altered messages
}

func (l *liars) member(r *record, i uint32) bool {
	if l.in == nil {
		l.in = l.c.members(r.session.Plan)
	}
	return l.in[i]
}

// says lies in a quarter of the messages.
func (l *liars) says(r *record, m message) []message {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.member(r, m.From) || l.rng.IntN(4) > 0 {
		return []message{m}
	}
	e, err := protocol.UnmarshalEnvelope(m.Data)
	if err != nil { // a chunk
		return []message{m}
	}
	msg, err := protocol.Decode(e)
	if err != nil {
		return []message{m}
	}
	b, err := r.session.Sign(r.keys[m.From], m.From, simulate.Altered(msg, l.rng.Int64N(8)))
	if err != nil {
		return []message{m}
	}
	l.n++
	lie := message{m.From, m.Subject, b}
	switch l.rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return []message{m, lie}
	case 2:
		return []message{lie, m}
	}
	return []message{lie}
}

// hears leaves out what liars sent themselves: their machines would stop at it.
func (l *liars) hears(r *record, member uint32, data []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.member(r, member) || ownWords(member, data)
}

// lying runs sessions on the target's terms in which all members of the coalition lie, and returns what
// went wrong: more than one combination of honest updates a round in the coalition's view, or honest
// parties that settled a round on different models.
func (r *Run) lying(ctx context.Context, c Coalition) (problems []string, lies int, err error) {
	t := r.Target
	t.Rounds = 2
	var group sync.WaitGroup
	var mu sync.Mutex
	for k := range liarSessions {
		l := &liars{c: c, rng: r.rng(fmt.Sprintf("liars %d", k))}
		group.Go(func() {
			rec, failed := r.Lab.run(ctx, t, restoredDim, staging{giveUp: patience / 2, spares: 1, says: l.says,
				hears: l.hears}, func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
			var found []string
			if failed == nil {
				found, failed = rec.wrong(c)
			}
			mu.Lock()
			defer mu.Unlock()
			problems, lies = append(problems, found...), lies+l.n
			if err == nil {
				err = failed
			}
		})
	}
	group.Wait()
	return problems, lies, err
}

// wrong is what a coalition achieved in a session of several attempts.
func (r *record) wrong(c Coalition) (problems []string, err error) {
	v, err := r.view(c, nil)
	if err != nil {
		return nil, err
	}
	for round := range v.Rounds() {
		n := 0
		for attempt := range r.session.Plan.Releases() {
			v.pinned = uint32(attempt + 1)
			n += v.rank(round + 1)
		}
		if n > 1 {
			problems = append(problems, fmt.Sprintf("round %d: %d combinations of honest updates", round+1, n))
		}
	}
	models := map[string]string{} // by the number of settled rounds
	for i := range uint32(r.session.Plan.Parties() - c.Parties) {
		settled, model := string(r.stored[i]["settled"]), string(r.stored[i]["model"])
		if known, ok := models[settled]; ok && known != model {
			problems = append(problems, "honest parties settled a round on different models")
		}
		models[settled] = model
	}
	return problems, nil
}
