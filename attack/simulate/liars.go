package simulate

import (
	"slices"
	"strings"

	"choir/protocol"
)

// Liars are members that follow rows of the table of cheats: a coalition of all nodes but one at most, the
// aggregator, and parties, so that two honest parties at least are in every sum. With them is the broker.
// Each row that a member follows is a fault of the session's script.

// drawLies draws who lies, and how.
func (w *world) drawLies() {
	if w.profile.Lie <= 0 && w.chaos.script == nil {
		return
	}
	rows := cheaters()
	for i, may := range w.coalition() {
		m := w.members[i]
		for k, row := range rows {
			if !row.fits(m, w.setup) {
				continue
			}
			p := 0.0
			if may {
				p = w.profile.Lie
			}
			key := func() string { return m.name + " " + strings.ReplaceAll(row.what, " ", "-") }
			if _, ok := w.ask("lie", p, uint64(i)<<32|uint64(k), key, nil); ok {
				m.lies = append(m.lies, row)
			}
		}
	}
}

// coalition draws which members may lie.
func (w *world) coalition() []bool {
	d, s := dice(mixIn(w.chaos.seed, "coalition")), w.setup
	all := make([]bool, len(w.members))
	honest := s.Parties + int(d.next()%uint64(s.Computes))
	parties := s.MinParties - 2
	for i := range all {
		switch {
		case i < s.Parties:
			if all[i] = parties > 0 && d.chance(.3); all[i] {
				parties--
			}
		case i != honest:
			all[i] = d.chance(.6)
		}
	}
	return all
}

// fits reports whether a row is one that a member can follow.
func (row cheater) fits(m *member, s Setup) bool {
	roles := map[byte]protocol.Role{'p': protocol.RoleParty, 'c': protocol.RoleCompute,
		'a': protocol.RoleAggregator}
	return roles[row.who[0]] == m.role && row.with == nil && (!row.audit || s.Audit) && row.pairs == s.Paired &&
		m.w.session.Chunks() == 1
}

// liar is the machine of a member that lies.
func (w *world) liar(m *member) protocol.Machine {
	c := &cheat{Machine: m.machine, s: w.session, key: m.key, self: uint32(m.i), view: m.disk,
		stored: map[string][]byte{}}
	c.deaf = func(data []byte) bool {
		return slices.ContainsFunc(m.lies, func(row cheater) bool { return row.deaf != nil && row.deaf(data) })
	}
	c.change = func(c *cheat) {
		for _, row := range m.lies {
			c.attempt(row.does)
		}
	}
	return c
}

// attempt changes this step's effects, or leaves them as they are if the change isn't possible here: another
// lie may have left nothing to change.
func (c *cheat) attempt(change func(*cheat)) {
	send, persist := slices.Clone(c.eff.Send), slices.Clone(c.eff.Persist)
	defer func() {
		if recover() != nil {
			c.eff.Send, c.eff.Persist = send, persist
		}
	}()
	change(c)
}

// split is the message that the broker shows to one listener in place of another: with a sender that lies,
// another one that it signed.
func (w *world) split(m *message, way int64) *message {
	signer := w.outsider
	if len(w.members[m.from].lies) > 0 {
		signer = w.members[m.from].key
	}
	other := *m
	other.mark, other.data = "!", w.forge(signer, m.data, way)
	if signer != w.outsider {
		w.oracle.overheard(other.data)
	}
	return &other
}
