package simulate

import (
	"bytes"
	"slices"

	"choir/protocol"
)

// announced are copies of the values that an incarnation has announced, by the
// address of their first byte. A driver may write such a value early.
type announced map[*byte][]byte

// checkAnnounced checks that a machine persists the values that it has announced
// unchanged.
func (o *oracle) checkAnnounced(m *member, eff *protocol.Effects) {
	if !o.answers(m.i) {
		return
	}
	for _, r := range eff.Persist {
		if len(r.Value) == 0 {
			continue
		}
		was, ok := m.ahead[&r.Value[0]]
		switch {
		case !ok:
		case bytes.Equal(was, r.Value):
			o.kept++
		default:
			o.violate("changed ahead", "%s persists other bytes under %s than it announced", m.name, r.Key)
		}
	}
	for _, v := range eff.Ahead {
		if m.ahead == nil {
			m.ahead = announced{}
		}
		m.ahead[&v[0]] = slices.Clone(v)
	}
}
