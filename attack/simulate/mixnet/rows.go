package mixnet

import (
	"slices"

	"choir/protocol"
)

// Row is a cheat: what one member does, and what must come of it.
type Row struct {
	Who  string // p0, c0, c1, c2 or agg
	What string

	does   func(*cheat)                           // on the effects of every step
	deaf   func(data []byte) bool                 // what it pretends not to have received
	tamper func(layer int, content []byte) []byte // what a party seals
	// shown reports whether the broker, which is with the cheat, delivers a message to a member; nil: all.
	shown func(to string, data []byte) bool
	comes comes
}

// comes is what must come of a cheat, as the honest members see it.
type comes struct {
	refused  error          // the reason of a refusal; nil: there is none
	by       string         // who refuses: a prefix of names
	nameless bool           // the refusal cannot name the cheat
	lost     string         // an honest party learns that a node lost its entry: the node's name
	outcomes []string       // of the attempts, as the aggregator published them; nil: accepted twice
	suspect  string         // of the first attempt that is not accepted; "": no member
	reports  [][]int        // of rounds 1 and 2: whose the aggregator has, -1 for one that no party sent
	ends     protocol.Class // how all honest members end
}

var (
	all    = []int{0, 1, 2, 3}
	others = []int{1, 2, 3}
	three  = []int{-3} // of any three parties
	both   = [][]int{all, all}
)

// whole is how a session ends when the cheat achieves nothing.
func whole(by string, why error) comes { return comes{refused: why, by: by, reports: both} }

// without is how it ends when the cheating party is left out.
func without(by string, why error) comes {
	return comes{refused: why, by: by, reports: [][]int{others, others}}
}

// voided is how it ends when the first attempt is void and the second is not.
func voided(by string, why error, suspect string) comes {
	return comes{refused: why, by: by, suspect: suspect, outcomes: []string{"void", "accepted", "accepted"},
		reports: both}
}

// Rows is the table.
func Rows() []Row { return slices.Concat(parties, nodes, splits, openings, aggregators) }

var parties = []Row{
	{Who: "p0", What: "two onions", comes: whole("c0", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.Onion) { m.Sealed[40] ^= 1 })},
	{Who: "p0", What: "a copy of another party's onion", comes: without("c0", protocol.ErrSealed),
		does: copied(func([]byte) {})},
	{Who: "p0", What: "another party's onion, altered", comes: without("c0", protocol.ErrSealed),
		does: copied(func(b []byte) { b[len(b)-1] ^= 1 })},
	{Who: "p0", What: "an onion of another length", comes: without("c0", protocol.ErrMalformed),
		does: lie(func(_ *cheat, m *protocol.Onion) { m.Sealed = append(m.Sealed, 0) })},
	{Who: "p0", What: "more onions than it may send", comes: without("c0", protocol.ErrMismatch),
		does: lie(func(_ *cheat, m *protocol.Onion) { m.Entries++ })},
	{Who: "p0", What: "a message of onions beyond the last", comes: without("c0", protocol.ErrMalformed),
		does: lie(func(_ *cheat, m *protocol.Onion) { m.Index += 1 << 31 })},
	{Who: "p0", What: "an onion for other keys", comes: without("c0", protocol.ErrMismatch),
		does: lie(func(_ *cheat, m *protocol.Onion) { m.Keys[0] ^= 1 })},
	{Who: "p0", What: "an onion of an earlier round",
		comes: comes{refused: protocol.ErrStale, by: "c0", reports: [][]int{all, others}},
		does: func(c *cheat) {
			each(c, func(m *protocol.Onion, o protocol.Outgoing) []protocol.Outgoing {
				if m.Round == 1 {
					c.stored["onion"] = o.Data
				}
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.stored["onion"]}}
			})
		}},
	{Who: "p0", What: "the onion of an earlier round in a new signature",
		comes: comes{refused: protocol.ErrSealed, by: "c0", reports: [][]int{all, others}},
		does: lie(func(c *cheat, m *protocol.Onion) {
			if m.Round == 1 {
				c.stored["sealed"] = m.Sealed
			}
			m.Sealed = c.stored["sealed"]
		})},
	{Who: "p0", What: "an outer layer for the second node that does not open", tamper: damaged(5),
		comes: comes{refused: protocol.ErrSealed, by: "c1", nameless: true, reports: [][]int{others, others}}},
	{Who: "p0", What: "an outer layer for the third node that does not open", tamper: damaged(4),
		comes: comes{refused: protocol.ErrSealed, by: "c2", nameless: true, reports: [][]int{others, others}}},
	{Who: "p0", What: "an inner layer that does not open", tamper: damaged(2),
		comes: comes{refused: protocol.ErrSealed, by: "c1", nameless: true, reports: [][]int{others, others}}},
	{Who: "p0", What: "an inner layer other than its digest", tamper: damaged(3),
		comes: comes{refused: protocol.ErrSealed, by: "c2", nameless: true, reports: [][]int{others, others}}},
	{Who: "p0", What: "silence in place of go", comes: whole("", nil), does: silent[*protocol.MixGo]()},
	{Who: "p0", What: "go for another list", comes: whole("c", protocol.ErrMismatch),
		does: lie(func(_ *cheat, m *protocol.MixGo) { m.List[0] ^= 1 })},
	{Who: "p0", What: "go without an onion", comes: without("c", protocol.ErrMismatch),
		does: func(c *cheat) {
			silent[*protocol.Onion]()(c)
			if m, ok := overheard[*protocol.MixAgree](c, 4, 1); ok && c.once("go") {
				c.eff.Emit(c.w.s.SubjectMixGo(c.self),
					c.sign(&protocol.MixGo{Round: m.Round, Attempt: m.Attempt, List: m.List}))
			}
		}},
	{Who: "p0", What: "a node's message", comes: whole("c", protocol.ErrUnknown),
		does: func(c *cheat) {
			if c.once("batch") {
				c.eff.Emit(c.w.s.SubjectMixBatch(c.self), c.sign(&protocol.MixBatch{Round: 1, Attempt: 1}))
			}
		}},
}

// copied sends p1's onion, altered, in place of the own one.
func copied(alter func([]byte)) func(*cheat) {
	return func(c *cheat) {
		silent[*protocol.Onion]()(c)
		c.eff.Wake = c.w.now + 100 // it listens to the others' messages
		for round := uint32(1); round <= 2; round++ {
			m, ok := overheard[*protocol.Onion](c, 1, round)
			if ok && c.once(string(rune('0'+round))) {
				alter(m.Sealed)
				c.eff.Emit(c.w.s.SubjectOnion(c.self), c.sign(m))
			}
		}
	}
}

// damaged alters the last byte of what is sealed in a layer; see mix.Config.
func damaged(layer int) func(int, []byte) []byte {
	return func(at int, content []byte) []byte {
		if at == layer {
			content = slices.Clone(content)
			content[len(content)-1] ^= 1
		}
		return content
	}
}

var nodes = []Row{
	{Who: "c0", What: "an onion dropped without a word", comes: voided("", protocol.ErrMismatch, "c0"),
		does: absurd(1, func(_ *cheat, b *batch) { b.drop(0) })},
	{Who: "c0", What: "more onions of a party than it has", comes: voided("", protocol.ErrMismatch, "c0"),
		does: altered(func(m *protocol.MixBatch) {
			if len(m.Entries) > 0 {
				m.Entries[0]++
			}
		})},
	{Who: "c1", What: "an onion dropped without a word", comes: voided("", protocol.ErrMismatch, "c1"),
		does: absurd(2, func(_ *cheat, b *batch) { b.drop(0) })},
	{Who: "c2", What: "an entry of the list dropped without a word",
		comes: voided("", protocol.ErrMismatch, "c2"), does: absurd(3, func(_ *cheat, b *batch) { b.drop(0) })},
	{Who: "c1", What: "an onion reported as one that does not open",
		comes: comes{lost: "c1", reports: [][]int{three, all}},
		does: rebatch(2, func(_ *cheat, b *batch) {
			b.drop(0)
			b.Failed = []uint32{0}
		})},
	{Who: "c0", What: "an onion left out of the first batch",
		comes: comes{lost: "c0", reports: [][]int{{0, 1, 2}, {0, 1, 2}}},
		deaf: func(data []byte) bool {
			e, err := protocol.UnmarshalEnvelope(data)
			return err == nil && e.Kind == protocol.KindOnion && e.From == 3
		}},
	{Who: "c1", What: "an onion replaced", comes: comes{lost: "c1", reports: [][]int{three, all}},
		does: rebatch(2, func(_ *cheat, b *batch) { b.scramble(0) })},
	{Who: "c2", What: "an entry of the list replaced", comes: comes{lost: "c2", reports: [][]int{three, all}},
		does: rebatch(3, func(_ *cheat, b *batch) { b.scramble(0) })},
	{Who: "c0", What: "all onions but one replaced", comes: voidedBy("c0"),
		does: rebatch(1, func(_ *cheat, b *batch) { b.scramble(1, 2, 3) })},
	{Who: "c2", What: "all entries of the list but one replaced", comes: voidedBy("c2"),
		does: rebatch(3, func(_ *cheat, b *batch) { b.scramble(1, 2, 3) })},
	{Who: "c1", What: "an onion twice", comes: voided("", protocol.ErrMismatch, "c1"),
		does: absurd(2, func(_ *cheat, b *batch) { b.entries[1] = b.entries[0] })},
	{Who: "c1", What: "one onion more", comes: voided("", protocol.ErrMismatch, "c1"),
		does: absurd(2, func(_ *cheat, b *batch) { b.entries = append(b.entries, b.entries[0]) })},
	{Who: "c1", What: "other entries than it describes", comes: voided("c2", protocol.ErrMismatch, "c1"),
		does: firstAttempt(func(m *protocol.MixPiece) bool { m.Entries[0] ^= 1; return true })},
	{Who: "c1", What: "a description and no entries", comes: voided("c2", protocol.ErrMismatch, ""),
		does: firstAttempt(func(*protocol.MixPiece) bool { return false })},
	{Who: "c1", What: "no keys", comes: voided("", nil, "c1"),
		does: firstAttempt(func(*protocol.MixKeys) bool { return false })},
	{Who: "c0", What: "refusal to accept onions", comes: voided("", nil, "c0"),
		does: firstAttempt(func(m *protocol.MixBatch) bool { return false })},
	{Who: "c2", What: "refusal to shuffle", comes: voided("", nil, "c2"),
		does: firstAttempt(func(*protocol.MixBatch) bool { return false })},
	{Who: "c1", What: "two batches", comes: whole("", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.MixBatch) { m.Content[0] ^= 1 })},
	{Who: "c1", What: "other keys for some", comes: whole("", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.MixKeys) { m.Outer, m.Inner = m.Inner, m.Outer })},
	{Who: "c1", What: "keys that are none", comes: voided("", protocol.ErrMalformed, "c1"),
		does: altered(func(m *protocol.MixKeys) { m.Outer = m.Outer[1:] })},
	{Who: "c1", What: "another node's batch", comes: whole("", protocol.ErrMismatch),
		does: twoFaced(func(_ *cheat, m *protocol.MixBatch) { m.Stage = 3 })},
	{Who: "c0", What: "a false complaint", comes: voided("", nil, ""),
		does: complains(0), deaf: hearsNoGo},
	{Who: "c0", What: "a false complaint with a piece that is right", comes: voided("", nil, ""),
		does: complains(2), deaf: hearsNoGo},
	{Who: "c0", What: "a complaint with another node's piece", comes: voided("", protocol.ErrMismatch, "c0"),
		does: complains(3), deaf: hearsNoGo},
}

// complains accuses c1 of its batch in the first attempt, with the piece of a batch unless that is 0.
func complains(stage uint32) func(*cheat) {
	return func(c *cheat) {
		for _, sent := range c.w.sent() {
			p, ok := decode[*protocol.MixPiece](sent.Data)
			if !ok || p.Round > 1 || p.Attempt > 1 || p.Stage != max(stage, 2) || !c.once("complaint") {
				continue
			}
			m := &protocol.MixComplaint{Round: 1, Attempt: 1, About: 5, Reason: "it lies"}
			if stage > 0 {
				m.Piece = sent.Data
			}
			c.eff.Emit(c.w.s.SubjectMixBatch(c.self), c.sign(m))
		}
	}
}

var splits = []Row{
	{Who: "c0", What: "with the broker: two descriptions of a batch", comes: voided("", nil, ""),
		does: describedTwice(1), shown: split(1, "c1")},
	{Who: "c1", What: "with the broker: two descriptions of a batch", comes: voided("", nil, ""),
		does: describedTwice(2), shown: split(2, "c2")},
	{Who: "c2", What: "with the broker: two lists", comes: voided("", nil, "c2"),
		does: describedTwice(3), shown: split(3, "c0")},
	{Who: "c0", What: "with the broker: two descriptions of what it opened", comes: comes{
		outcomes: []string{"rejected", "accepted"}, reports: [][]int{nil, all}},
		does: describedTwice(4), shown: split(4, "c1")},
}

// describedTwice adds a description of a batch of the first attempt that reports an entry as one that does
// not open.
func describedTwice(stage uint32) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m *protocol.MixBatch, o protocol.Outgoing) []protocol.Outgoing {
			if !first(m) || m.Stage != stage {
				return []protocol.Outgoing{o}
			}
			m.Failed = []uint32{0}
			if len(m.Digests) > 0 {
				m.Digests = m.Digests[1:]
			}
			return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(m)}}
		})
	}
}

// split shows a member the first description of a batch of the first attempt, and all others the second.
func split(stage uint32, to string) func(string, []byte) bool {
	return func(member string, data []byte) bool {
		m, ok := decode[*protocol.MixBatch](data)
		return !ok || !first(m) || m.Stage != stage || (member == to) == (len(m.Failed) == 0)
	}
}

// hearsNoGo keeps the cheat's machine from agreeing in the first attempt.
func hearsNoGo(data []byte) bool {
	m, ok := decode[*protocol.MixGo](data)
	return ok && m.Round == 1 && m.Attempt == 1
}

// voidedBy is how a session ends when too few parties find their entries: no one is suspected in public,
// and each party knows which node it was.
func voidedBy(node string) comes {
	c := voided("", nil, "")
	c.lost = node
	return c
}

// rejected is how a session ends when a list is opened in part: the round is lost.
func rejected(by, suspect string) comes {
	return comes{refused: protocol.ErrMismatch, by: by, suspect: suspect,
		outcomes: []string{"rejected", "accepted"}, reports: [][]int{nil, all}}
}

var openings = []Row{
	{Who: "c0", What: "the list opened before all agree", comes: whole("", protocol.ErrEarly),
		does: func(c *cheat) {
			each(c, func(m *protocol.MixAgree, o protocol.Outgoing) []protocol.Outgoing {
				early := &protocol.MixBatch{Round: m.Round, Attempt: m.Attempt, Stage: 4}
				return []protocol.Outgoing{{Subject: c.w.s.SubjectMixBatch(c.self), Data: c.sign(early)}, o}
			})
		}},
	{Who: "c1", What: "agreement to another list", comes: voided("", protocol.ErrMismatch, ""),
		does: altered(func(m *protocol.MixAgree) { m.List[0] ^= 1 })},
	{Who: "c1", What: "agreement without the parties", comes: voided("", protocol.ErrSmallSet, "c1"),
		does: altered(func(m *protocol.MixAgree) { m.Parties = nil })},
	{Who: "c1", What: "no agreement", comes: voided("", nil, "c1"),
		does: firstAttempt(func(*protocol.MixAgree) bool { return false })},
	{Who: "c0", What: "another entry in place of what the layer has",
		comes: rejected("c1", "c0"),
		does:  rebatch(4, func(_ *cheat, b *batch) { b.scramble(2) })},
	{Who: "c1", What: "an entry of the list in another's place",
		comes: rejected("c2", "c1"),
		does: rebatch(5, func(_ *cheat, b *batch) {
			b.entries[0], b.entries[1] = b.entries[1], b.entries[0]
		})},
	{Who: "c2", What: "other reports than it describes", comes: comes{suspect: "c2",
		outcomes: []string{"rejected", "accepted"}, reports: [][]int{nil, all}},
		does: func(c *cheat) {
			each(c, func(m *protocol.MixPiece, o protocol.Outgoing) []protocol.Outgoing {
				if m.Stage == 6 && m.Round == 1 {
					m.Entries[60] ^= 1
					o.Data = c.sign(m)
				}
				return []protocol.Outgoing{o}
			})
		}},
	{Who: "c2", What: "reports sealed wrongly for the aggregator", comes: comes{suspect: "c2",
		outcomes: []string{"rejected", "accepted"}, reports: [][]int{nil, all}},
		does: rebatch(6, func(_ *cheat, b *batch) { b.scramble(2) })},
	{Who: "c0", What: "an entry reported as one that does not open",
		comes: comes{lost: "c0", reports: [][]int{three, all}},
		does: rebatch(4, func(_ *cheat, b *batch) {
			b.drop(1)
			b.Failed = []uint32{1}
		})},
	{Who: "c1", What: "an entry reported that is none",
		comes: rejected("c2", "c1"),
		does:  absurd(5, func(_ *cheat, b *batch) { b.Failed = []uint32{9} })},
}

var aggregators = []Row{
	{Who: "agg", What: "a result before the list is opened", comes: whole("", protocol.ErrEarly),
		does: func(c *cheat) {
			each(c, func(m *protocol.MixRound, o protocol.Outgoing) []protocol.Outgoing {
				r := &protocol.MixResult{Round: m.Round, Attempt: m.Attempt, Outcome: protocol.OutcomeAccepted,
					Count: 4, Suspect: protocol.Everyone}
				return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(r)}}
			})
		}},
	{Who: "agg", What: "a report left out", comes: cheated,
		does: lie(func(_ *cheat, m *protocol.MixResult) { m.Count-- })},
	{Who: "agg", What: "other reports than the nodes opened", comes: cheated,
		does: lie(func(_ *cheat, m *protocol.MixResult) { m.Opened[0] ^= 1 })},
	{Who: "agg", What: "a result of another list", comes: cheated,
		does: lie(func(_ *cheat, m *protocol.MixResult) { m.List[0] ^= 1 })},
	{Who: "agg", What: "a void that suspects a party", comes: comes{refused: protocol.ErrMismatch,
		ends: protocol.ClassIntegrity, reports: [][]int{all, nil}, suspect: "p0"},
		does: lie(func(_ *cheat, m *protocol.MixResult) {
			*m = protocol.MixResult{Round: m.Round, Attempt: m.Attempt, Outcome: protocol.OutcomeVoid}
		})},
	{Who: "agg", What: "a void where the list is opened", comes: comes{refused: protocol.ErrRevealed, by: "c",
		outcomes: []string{"void", "accepted"}, reports: both},
		does: func(c *cheat) {
			each(c, func(m *protocol.MixResult, o protocol.Outgoing) []protocol.Outgoing {
				if m.Round == 1 {
					v := &protocol.MixResult{Round: 1, Attempt: m.Attempt, Outcome: protocol.OutcomeVoid,
						Suspect: protocol.Everyone}
					o.Data = c.sign(v)
				}
				return []protocol.Outgoing{o}
			})
		}},
	{Who: "agg", What: "a round that is over once more", comes: whole("c", protocol.ErrRevealed),
		does: func(c *cheat) {
			each(c, func(m *protocol.MixRound, o protocol.Outgoing) []protocol.Outgoing {
				if m.Round == 2 {
					return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(
						&protocol.MixRound{Round: 1, Attempt: 2, Public: m.Public})}, o}
				}
				return []protocol.Outgoing{o}
			})
		}},
	{Who: "agg", What: "two keys for the reports", comes: whole("", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.MixRound) { m.Public[0] ^= 1 })},
	{Who: "agg", What: "more attempts than the plan has", comes: whole("c", protocol.ErrMismatch),
		does: func(c *cheat) {
			each(c, func(m *protocol.MixRound, o protocol.Outgoing) []protocol.Outgoing {
				far := *m
				far.Round += 2
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(&far)}, o}
			})
		}},
}

// cheated is how a session ends when every honest member refuses the result.
var cheated = comes{refused: protocol.ErrMismatch, ends: protocol.ClassIntegrity,
	reports: [][]int{all, nil}, outcomes: []string{"accepted"}}
