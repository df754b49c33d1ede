package simulate

import (
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/protocol"
)

// coalitions are rows in which several members lie.
var coalitions = []cheater{
	{what: "another aggregate, which a node confirms", who: "agg", deaf: isConfirm, does: otherAggregate,
		with:  []cheater{{who: "c0", does: coverAggregate}},
		comes: comes{ends: protocol.ClassQuorum, of: "p", because: "nothing has moved", sets: []int{4}}},
	{what: "audit: another aggregate, which a node confirms", who: "agg", audit: true, deaf: isConfirm,
		does: otherAggregate, with: []cheater{{who: "c0", does: coverAggregate}},
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "the commitments do not open",
			sets: []int{4}}},
}

// moreRows are further rows of the table.
var moreRows = []cheater{
	{what: "audit: another sum of commitments in the result", who: "agg", audit: true, deaf: isConfirm,
		comes: comes{refused: protocol.ErrMismatch, by: "c", ends: protocol.ClassQuorum, of: "c",
			because: "nothing has moved"},
		does: lieOfResult(func(_ *cheat, m *resulting) { m.Commitments[0] ^= 1 })},
	{what: "confirm that denies a party's channel", who: "c0", comes: comes{sets: []int{4, 3}},
		does: lie(func(_ *cheat, m *protocol.Confirm) { m.Key, m.For = 2, []uint32{0} })},
}

// coverAggregate confirms round 1 with a value that makes otherAggregate's sum pass.
func coverAggregate(c *cheat) {
	lie(func(c *cheat, m *protocol.Confirm) {
		if m.Round != 1 {
			return
		}
		f, v := c.s.Fingerprint(m.Result), make(field.Vector, 2)
		f.Write(field.Vector{7})
		if err := field.DecodeVector(v, m.Value[:]); err != nil {
			panic(err)
		}
		value := field.AddExt(field.Ext(v), f.Sum())
		field.PutVector(m.Value[:], value[:])
	})(c)
}

// TestCoalitions runs the coalitions' rows in the simulator.
func TestCoalitions(t *testing.T) {
	for _, row := range slices.Concat(coalitions, moreRows) {
		t.Run(row.what, func(t *testing.T) { checkRow(t, row) })
	}
}
