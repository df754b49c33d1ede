package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"choir/attack/simulate/mixnet"
	"choir/protocol"
)

// Cheat is a row of the table of cheats: what one member of the table's session does.
type Cheat struct {
	What string // for people
	Who  string // p0, agg, or a compute node: c0, in the mix-net also c1 and c2
	// Unseen reports that the cheat changes the sum and no member notices.
	Unseen bool
	Mix    bool // in a session of the mix-net, not of the secure sum

	row cheater
	mix *mixnet.Row // a session of the mix-net; nil: one of the secure sum
}

// Cheats is the table of cheats: sessions of four parties, of which three suffice, three compute
// nodes and an aggregator, in which one member lies and no one helps it. A shape of at least four
// parties replaces their numbers; one party may be missing and no one adds noise in any case.
func Cheats(h Shape) (all []Cheat) {
	for _, row := range cheaters() {
		if row.shows != "" || row.with != nil {
			continue // it takes the broker or a second member
		}
		row.shape = h
		all = append(all, Cheat{What: row.what, Who: row.who, Unseen: row.comes.wrong, row: row})
	}
	for _, row := range mixnet.Rows() {
		all = append(all, Cheat{What: "mix-net: " + row.What, Who: row.Who, Mix: true, mix: &row})
	}
	return all
}

// Run runs the session of a cheat, with the mix-net in a new order of messages each time, and returns what
// differs from the table, and what the oracle finds wrong with honest members.
func (c Cheat) Run() (problems []string, err error) {
	if c.mix != nil {
		return c.mix.Run(rand.Uint64())
	}
	o, violations, err := simulateCheats(c.row)
	if err != nil {
		return nil, err
	}
	for _, v := range violations {
		problems = append(problems, v.String())
	}
	return append(problems, c.row.judge(c.row.table(), o)...), nil
}

// OnTerms is the cheat on its shape's terms, with N_min and noise, for Together: what comes of it is not in
// the table, which is about exact sums and one missing party.
func (c Cheat) OnTerms() Cheat {
	c.row.terms = true
	return c
}

// Suspect is Run for a cheat that is expected to change no sum: an Unseen one has problems then.
func (c Cheat) Suspect() (problems []string, err error) {
	c.row.comes.wrong = false
	return c.Run()
}

// Blame runs the session of a cheat as if its member were honest, and returns what the oracle then
// finds: an invariant that honest members keep is violated.
func (c Cheat) Blame() ([]Violation, error) {
	if c.mix != nil {
		return nil, nil // its oracle knows the honest nodes only
	}
	_, violations, err := simulateRows(nil, c.row)
	return violations, err
}

// ErrUnfit means that cheats can't be done in one session.
var ErrUnfit = errors.New("cheats that don't fit together")

// Together runs a session with a cheat, or with those of different members at the same time, and returns
// what the oracle finds wrong with honest members: reveals, sets, noise, what they sign. There is no table
// of how such a session ends. The error is ErrUnfit if they can't be done at the same time.
func Together(cheats ...Cheat) ([]Violation, error) {
	var rows []cheater
	var who []string
	for _, c := range cheats {
		if c.mix != nil || slices.Contains(who, c.Who) ||
			c.row.audit != cheats[0].row.audit || c.row.pairs != cheats[0].row.pairs {
			return nil, fmt.Errorf("%w: %s", ErrUnfit, strings.Join(append(who, c.Who), ", "))
		}
		rows, who = append(rows, c.row), append(who, c.Who)
	}
	if setup := rows[0].table(); rows[0].audit && !setup.Audit {
		return nil, fmt.Errorf("%w: no audit with %s noise", ErrUnfit, setup.Noise)
	}
	_, violations, err := simulateCheats(rows...)
	return violations, err
}

// Fits reports whether two cheats are of different members under plans of the same form.
func (c Cheat) Fits(d Cheat) bool {
	return c.mix == nil && d.mix == nil &&
		c.Who != d.Who && c.row.audit == d.row.audit && c.row.pairs == d.row.pairs
}

// Altered returns another content for a message, of the same kind or one that its sender may send in its
// place; way chooses between several. The message may be changed.
func Altered(m protocol.Message, way int64) protocol.Message { return altered(m, way) }
