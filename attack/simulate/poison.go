package simulate

import (
	"slices"
	"strings"

	"choir/crypto/field"
	"choir/protocol"
)

// Poison is how far one party can move every coordinate of an accepted sum, as a multiple of the
// plan's bound on one party's vector, in the table's session: the largest addition that the session
// accepts, by bisection.
func Poison() (float64, error) {
	lo, hi := int64(0), int64(1)<<61 // a field element is at most 2^62 from 0
	var bound float64
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		accepted, perParty, err := poisoned(mid)
		if err != nil {
			return 0, err
		}
		if bound = float64(perParty); accepted {
			lo = mid
		} else {
			hi = mid
		}
	}
	return float64(lo) / bound, nil
}

// poisoned reports whether a sum to which p0 adds so much in every coordinate is accepted.
func poisoned(more int64) (accepted bool, perParty uint64, err error) {
	add := make(field.Vector, 1)
	add.SetSigned([]int64{more})
	row := cheater{who: "p0", does: func(c *cheat) {
		perParty = c.s.Plan.PerParty
		c.vector(func(v field.Vector) []byte {
			for i := range v {
				v[i] = field.Add(v[i], add[0])
			}
			return field.AppendVector(nil, v)
		})
	}}
	o, _, err := simulateCheats(row)
	if err != nil {
		return false, 0, err
	}
	return slices.ContainsFunc(o.results("p1"), func(n protocol.Notice) bool {
		return n.Round == 1 && n.Detail == protocol.OutcomeAccepted.String()
	}), perParty, nil
}

// Burn is a session in which a compute node makes every attempt void: the most attempts that a
// party contributed to, which are those that its ledger charged, and how many the plan allows.
func Burn() (charged, allowed int, err error) {
	row := cheater{who: "c0", does: lie(func(_ *cheat, m *agreement) { m.Set[0] ^= 1 })}
	o, _, err := simulateCheats(row)
	if err != nil {
		return 0, 0, err
	}
	setup := row.table()
	for name, list := range o.notices {
		n := 0
		for _, notice := range list {
			if notice.Code == protocol.NoteContributed {
				n++
			}
		}
		if strings.HasPrefix(name, "p") {
			charged = max(charged, n)
		}
	}
	return charged, setup.Rounds + setup.Spares, nil
}
