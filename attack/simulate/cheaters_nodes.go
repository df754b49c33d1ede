package simulate

import (
	"bytes"
	"strings"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/protocol"
)

// cheatingNodes: lists, sets, receipts, keys.
var cheatingNodes = []cheater{
	{what: "list that leaves a party out", who: "c0", comes: comes{sets: []int{3, 3}, uncounted: "p0"},
		does: func(*cheat) {}, deaf: deafTo(0)},
	{what: "list that isolates two parties", who: "c0",
		comes: comes{refused: protocol.ErrSmallSet, by: "c", nameless: true, ends: protocol.ClassQuorum,
			because: "set is smaller"}, does: isolate},
	{what: "list with an invented contribution", who: "c0", comes: comes{sets: []int{3, 3}, uncounted: "p0"},
		deaf: deafTo(0),
		does: lie(func(_ *cheat, m *hold) { m.Entries = append([]protocol.Entry{{Party: 0}}, m.Entries...) })},
	{what: "list and agreement that don't fit", who: "c0",
		comes: comes{ends: protocol.ClassQuorum, because: "c0 and c1 signed different sets"},
		does:  lie(func(_ *cheat, m *hold) { m.Entries = m.Entries[1:] })},
	{what: "list that names a node", who: "c0", comes: stalled("c", protocol.ErrUnknown),
		does: lie(func(c *cheat, m *hold) {
			m.Entries = append(m.Entries, protocol.Entry{Party: c.s.Plan.Compute(1)})
		})},
	{what: "list under a wrong signature", who: "c0", comes: stalled("c", protocol.ErrSignature),
		does: func(c *cheat) {
			each(c, func(m *hold, o protocol.Outgoing) []protocol.Outgoing {
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(stranger, c.self, m)}}
			})
		}},
	{what: "two lists", who: "c0", comes: whole("c", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *hold) { m.Entries = m.Entries[1:] })},
	{what: "list after another result", who: "c0", comes: stalled("c", protocol.ErrMismatch),
		does: lie(func(_ *cheat, m *hold) { m.Last[0] ^= 1 })},
	{what: "list for an attempt that is not open", who: "c0", comes: stalled("c", protocol.ErrEarly),
		does: lie(func(_ *cheat, m *hold) { m.Attempt++ })},
	{what: "list from the round before", who: "c0",
		comes: comes{refused: protocol.ErrStale, by: "c", ends: protocol.ClassQuorum,
			because: "nothing has moved", sets: []int{4}},
		does: lie(func(_ *cheat, m *hold) { m.Round = 1 })},
	{what: "no list", who: "c0", comes: stalled("", nil), does: func(c *cheat) { silent[*hold]()(c) }},
	{what: "agreement to another set", who: "c0",
		comes: comes{ends: protocol.ClassQuorum, because: "nothing has moved"},
		does:  lie(func(_ *cheat, m *agreement) { m.Set[0] ^= 1 })},
	{what: "agreement with a false count", who: "c0",
		comes: comes{ends: protocol.ClassQuorum, because: "nothing has moved"},
		does:  lie(func(_ *cheat, m *agreement) { m.Count-- })},
	{what: "two agreements", who: "c0", comes: whole("c", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *agreement) { m.Set[0] ^= 1 })},
	{what: "no agreement", who: "c0", comes: stalled("", nil),
		does: func(c *cheat) { silent[*agreement]()(c) }},
	{what: "receipt for something else", who: "c0", comes: whole("p", protocol.ErrMismatch),
		does: twoFaced(func(_ *cheat, m *protocol.Receipt) { m.Bundle[0] ^= 1 })},
	{what: "receipt on a wrong path", who: "c0", comes: whole("p", protocol.ErrSignature),
		does: misled(func(m *protocol.Receipt, _ []*protocol.Receipt) { m.Path[1][0] ^= 1 })},
	{what: "receipt on another one's path", who: "c0", comes: whole("p", protocol.ErrSignature),
		does: misled(func(m *protocol.Receipt, all []*protocol.Receipt) { m.Index, m.Path = 1, all[1].Path })},
	{what: "receipt that stands where two hashes do", who: "c0", comes: whole("p", protocol.ErrSignature),
		does: misled(func(m *protocol.Receipt, _ []*protocol.Receipt) { m.Count, m.Path = 2, m.Path[1:] })},
	{what: "receipt under another round's root", who: "c0", comes: whole("p", protocol.ErrSignature),
		does: misled(func(m *protocol.Receipt, _ []*protocol.Receipt) { m.Round++ })},
	{what: "a second key", who: "c0", comes: whole("p", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.Key) { m.Public[0] ^= 1 })},
	{what: "expired key", who: "c0", comes: stalled("p", protocol.ErrKeyExpired),
		does: lie(func(_ *cheat, m *protocol.Key) { m.NotAfter = 1 })},
	{what: "the aggregator's messages from a node", who: "c0", comes: whole("p", protocol.ErrUnknown),
		does: func(c *cheat) {
			if c.once("coup") {
				c.say(c.s.SubjectControl(), &opening{Round: 1, Attempt: 2})
				c.say(c.s.SubjectControl(), &protocol.Abort{Class: 5, Reason: "coup"})
				c.say(c.s.SubjectResult(1, 1, "head"), &resulting{Round: 1, Attempt: 1, Outcome: protocol.OutcomeVoid})
			}
		}},
}

// misled sends with each receipt another one, which was changed after it was signed
// with three more.
func misled(change func(m *protocol.Receipt, all []*protocol.Receipt)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m *protocol.Receipt, o protocol.Outgoing) []protocol.Outgoing {
			var all []*protocol.Receipt
			for i := range uint32(4) {
				all = append(all, &protocol.Receipt{Round: m.Round, Attempt: m.Attempt, Party: (m.Party + i) % 4,
					Bundle: m.Bundle})
			}
			e := must(protocol.UnmarshalEnvelope(must(c.s.SignReceipts(c.key, c.self, all))[0]))
			m = all[0]
			change(m, all)
			e.Body = must(protocol.UnmarshalEnvelope(c.sign(c.key, c.self, m))).Body
			return []protocol.Outgoing{o, {Subject: o.Subject, Data: must(e.Marshal())}}
		})
	}
}

// deafTo ignores the messages of a party.
func deafTo(party uint32) func([]byte) bool {
	return func(data []byte) bool {
		if c, err := protocol.UnmarshalChunk(data); err == nil {
			return c.From == party
		}
		e, err := protocol.UnmarshalEnvelope(data)
		return err == nil && e.From == party
	}
}

// isolate lists two parties only, and agrees to the resulting set.
func isolate(c *cheat) {
	lie(func(_ *cheat, m *hold) { m.Entries = m.Entries[max(0, len(m.Entries)-2):] })(c)
	lie(func(c *cheat, m *agreement) {
		set := c.intersection(m.Round, m.Attempt)
		set = set[max(0, len(set)-2):]
		m.Count, m.Set = uint32(len(set)), protocol.SetDigest(c.s, m.Round, m.Attempt, set)
	})(c)
}

// cheatingSums: what a node reveals.
var cheatingSums = []cheater{
	{what: "partial sum over another set", who: "c0",
		comes: comes{ends: protocol.ClassIntegrity, because: "c0 revealed over another set"},
		does:  lie(func(_ *cheat, m *partialSum) { m.Set[0] ^= 1 })},
	{what: "another partial sum than signed", who: "c0",
		comes: comes{ends: protocol.ClassIntegrity, because: "c0 sent another partial sum than it signed"},
		does: eachChunk(func(c *cheat, ch *protocol.Chunk) {
			v := c.open(ch)
			v[0] = field.Add(v[0], 7)
			ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, field.AppendVector(nil, v))
		})},
	{what: "another sum than it agreed with", who: "c0",
		comes: comes{ends: protocol.ClassIntegrity, because: "c0 revealed another partial sum than it agreed with"},
		does:  lateSum(7)},
	{what: "sum of something else", who: "c0", comes: comes{sets: []int{4, 4}, wrong: true}, does: otherSum(7)},
	{what: "sum that wraps around", who: "c0", comes: comes{sets: []int{4, 4}, rejected: true},
		does: otherSum(1 << 62)},
	{what: "two partial sums", who: "c0",
		comes: comes{refused: protocol.ErrEquivocate, by: "agg", sets: []int{4, 4}},
		does: func(c *cheat) {
			each(c, func(m *partialSum, o protocol.Outgoing) []protocol.Outgoing {
				m.Vector[0] ^= 1
				return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(c.key, c.self, m)}}
			})
		}},
	{what: "altered partial sum", who: "c0",
		comes: comes{refused: protocol.ErrSealed, by: "agg", nameless: true, ends: protocol.ClassQuorum,
			because: "nothing has moved"},
		does: eachChunk(func(_ *cheat, ch *protocol.Chunk) { ch.Ciphertext[0] ^= 1 })},
	{what: "truncated partial sum", who: "c0",
		comes: comes{refused: protocol.ErrMalformed, by: "agg", nameless: true, ends: protocol.ClassQuorum,
			because: "nothing has moved"},
		does: eachChunk(func(c *cheat, ch *protocol.Chunk) {
			v := c.open(ch)
			ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, field.AppendVector(nil, v[1:]))
		})},
	{what: "confirm of another sum", who: "c0",
		comes: comes{ends: protocol.ClassIntegrity, of: "c", sets: []int{4},
			because: "c0 confirmed another partial sum than it revealed"},
		does: lie(func(_ *cheat, m *protocol.Confirm) { m.Value[0] ^= 1 })},
	{what: "confirm of another result", who: "c0",
		comes: comes{ends: protocol.ClassIntegrity, because: "c0 confirmed another result", sets: []int{4}},
		does:  lie(func(_ *cheat, m *protocol.Confirm) { m.Result[0] ^= 1 })},
	{what: "confirm from the round before", who: "c0",
		comes: comes{ends: protocol.ClassQuorum, of: "p", because: "nothing has moved", sets: []int{4, 4}},
		does:  lie(func(_ *cheat, m *protocol.Confirm) { m.Round = 1 })},
	{what: "two confirms", who: "c0", comes: whole("p", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.Confirm) { m.Result[0] ^= 1 })},
	{what: "no confirm", who: "c0",
		comes: comes{ends: protocol.ClassQuorum, because: "no confirm from c0", sets: []int{4}},
		does:  func(c *cheat) { silent[*protocol.Confirm]()(c) }},
	{what: "no partial sum", who: "c0", comes: stalled("", nil),
		does: func(c *cheat) { silent[*partialSum]()(c) }},
}

// otherSum adds a number to the revealed sum.
func otherSum(more field.Element) func(*cheat) {
	return func(c *cheat) {
		lie(func(c *cheat, m *agreement) {
			sum, o := c.partialSum(m)
			sum[0] = field.Add(sum[0], more)
			m.Partial = protocol.VectorDigest(sum, o)
		})(c)
		var sum field.Vector
		eachChunk(func(c *cheat, ch *protocol.Chunk) {
			v := c.open(ch)
			v[0] = field.Add(v[0], more)
			sum = v
			ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, field.AppendVector(nil, v))
		})(c)
		lie(func(c *cheat, m *partialSum) { m.Vector = protocol.VectorDigest(sum, c.opening(m)) })(c)
		lie(confirmMore(more))(c)
		c.remember()
	}
}

// confirmMore adds a number to the sum that a node confirms.
func confirmMore(more field.Element) func(c *cheat, m *protocol.Confirm) {
	return func(c *cheat, m *protocol.Confirm) {
		if m.Value == (protocol.Value{}) {
			return // it is of a void attempt
		}
		f := c.s.Fingerprint(m.Result)
		f.Write(field.Vector{more})
		e := f.Sum()
		var v protocol.Value
		field.PutVector(v[:], e[:])
		m.Value = protocol.AddValues([]protocol.Value{m.Value, v})
	}
}

// lateSum adds a number to the revealed sum, and had agreed with the right one.
func lateSum(more field.Element) func(*cheat) {
	return func(c *cheat) {
		var sum field.Vector
		eachChunk(func(c *cheat, ch *protocol.Chunk) {
			sum = c.open(ch)
			sum[0] = field.Add(sum[0], more)
			ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, field.AppendVector(nil, sum))
		})(c)
		lie(func(c *cheat, m *partialSum) { m.Vector = protocol.VectorDigest(sum, c.opening(m)) })(c)
	}
}

// otherBlinding signs and seals another blinding sum.
func otherBlinding(blinding [32]byte) func(*cheat) {
	return func(c *cheat) {
		lie(func(c *cheat, m *agreement) {
			sum, o := c.partialSum(m)
			o.Blinding = blinding
			m.Partial = protocol.VectorDigest(sum, o)
		})(c)
		var sum field.Vector
		eachChunk(func(c *cheat, ch *protocol.Chunk) { sum = c.open(ch) })(c)
		lie(func(c *cheat, m *partialSum) {
			o := c.opening(m)
			o.Blinding = blinding
			m.Vector = protocol.VectorDigest(sum, o)
			c.reopen(m, o)
		})(c)
		c.remember()
	}
}

// remember has the node's store hold what it revealed.
func (c *cheat) remember() {
	for i, r := range c.eff.Persist {
		if !strings.HasPrefix(r.Key, "reveal/") || len(r.Value) == 0 {
			continue
		}
		for _, o := range c.eff.Send {
			if _, m, err := c.s.Receive(o.Data); err == nil {
				if _, ok := m.(*partialSum); ok {
					c.eff.Persist[i].Value = o.Data
				}
			}
		}
	}
}

// audited are cheats under a plan with audit: the opening detects a wrong sum of a
// node and a wrong commitment of a party, but can't attribute it.
func audited() []cheater {
	caught := comes{ends: protocol.ClassIntegrity, because: "do not open to the aggregate"}
	return []cheater{
		{what: "audit: sum of something else", who: "c0", audit: true, comes: caught, does: otherSum(7)},
		{what: "audit: false blinding sum", who: "c0", audit: true, comes: caught,
			does: otherBlinding([32]byte{1})},
		{what: "audit: blinding sum that is no scalar", who: "c0", audit: true,
			comes: comes{ends: protocol.ClassIntegrity, because: "blinding sum of node 0"},
			does:  otherBlinding([32]byte(bytes.Repeat([]byte{255}, 32)))},
		{what: "audit: another sum of commitments", who: "c0", audit: true,
			comes: comes{ends: protocol.ClassQuorum, because: "nothing has moved"},
			does:  lie(func(_ *cheat, m *agreement) { m.Commitments[0] ^= 1 })},
		{what: "audit: another aggregate, consistently", who: "agg", audit: true,
			comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "do not open to the aggregate",
				sets: []int{4}},
			does: otherAggregate},
		{what: "audit: input that isn't committed to", who: "p0", audit: true, comes: caught,
			does: func(c *cheat) {
				c.vector(func(v field.Vector) []byte {
					v[0] = field.Add(v[0], 1000)
					return field.AppendVector(nil, v)
				})
			}},
		{what: "audit: no commitment", who: "p0", audit: true, comes: without("c", protocol.ErrMismatch),
			does: lie(func(c *cheat, m *contribution) { m.Blinding = nil; c.confirm(m) })},
		{what: "audit: commitment that is no point", who: "p0", audit: true,
			comes: without("c", protocol.ErrMalformed),
			does: lie(func(c *cheat, m *contribution) {
				m.Commitment = commit.Commitment(bytes.Repeat([]byte{255}, 32))
				c.confirm(m)
			})},
		{what: "audit: blinding share that doesn't open", who: "p0", audit: true,
			comes: without("c", protocol.ErrSealed),
			does:  lie(func(c *cheat, m *contribution) { m.Blinding[1][0] ^= 1; c.confirm(m) })},
		{what: "commitment without audit", who: "p0", comes: without("c", protocol.ErrMismatch),
			does: lie(func(c *cheat, m *contribution) { m.Commitment[0] = 1; c.confirm(m) })},
	}
}
