package simulate

import (
	"choir/crypto/field"
	"choir/protocol"
)

// cheatingPairs: elements that aren't two coordinates of an update. Three coordinates are two
// elements, and the second has room for one that isn't there.
func cheatingPairs() []cheater {
	lost := comes{sets: []int{4, 3}, rejected: true}
	unseen := comes{sets: []int{4, 4}, wrong: true}
	return []cheater{
		{what: "pairs: a carry into the neighbour", who: "p0", pairs: true,
			comes: comes{sets: []int{4, 3}, wrong: true}, does: added(0, 1000<<32)},
		{what: "pairs: a coordinate that becomes a negative one", who: "p0", pairs: true, comes: lost,
			does: added(0, 1<<31)},
		{what: "pairs: a neighbour beyond all bounds", who: "p0", pairs: true, comes: lost, does: added(0, 1<<62)},
		{what: "pairs: something behind the last coordinate", who: "p0", pairs: true, comes: lost,
			does: added(-1, 1<<32)},
		{what: "pairs: something negative behind the last coordinate", who: "p0", pairs: true, comes: lost,
			does: added(-1, field.Sub(0, 1<<32))},
		{what: "pairs: a neighbour that isn't committed to", who: "p0", pairs: true, audit: true,
			comes: comes{ends: protocol.ClassIntegrity, because: "do not open to the aggregate"}, does: added(0,
				1000<<32)},
		{what: "pairs: sum of something else", who: "c0", pairs: true, comes: unseen, does: otherSum(7 << 32)},
		{what: "pairs: sum that wraps around", who: "c0", pairs: true,
			comes: comes{sets: []int{4, 4}, rejected: true}, does: otherSum(1 << 62)},
	}
}

// added shares an update with something more in one element, the first one or, for -1, the last one.
func added(element int, more field.Element) func(*cheat) {
	return func(c *cheat) {
		c.vector(func(v field.Vector) []byte {
			at := (element + len(v)) % len(v)
			v[at] = field.Add(v[at], more)
			return field.AppendVector(nil, v)
		})
	}
}
