package simulate

import (
	"bytes"
	"slices"

	"choir/protocol"
)

// announced are the values that a life said it would persist, as they were then, by
// their first bytes. A driver may have written them by now.
type announced map[*byte][]byte

// keepsWord holds a machine to what it announced: what it persists from the same memory
// is what was there.
func (o *oracle) keepsWord(m *member, eff *protocol.Effects) {
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
