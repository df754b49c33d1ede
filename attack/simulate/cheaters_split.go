package simulate

import (
	"strings"
	"sync"

	"choir/protocol"
)

// sides are the messages of which the broker shows one version to some members and another to the rest.
type sides struct {
	mu     sync.Mutex
	second map[uint64]bool // by the hash of the message: whether it is the second version
}

func newSides() *sides { return &sides{second: map[uint64]bool{}} }

func (s *sides) add(data []byte, second bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.second[mixIn(0, data)] = second
}

// hidden reports whether a message is the version that a member isn't shown.
func (s *sides) hidden(data []byte, second bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, two := s.second[mixIn(0, data)]
	return two && version != second
}

// shown is the machine of an honest member behind the broker that helps a cheat.
type shown struct {
	protocol.Machine
	sides  *sides
	second bool
}

func (m shown) Step(now int64, ev protocol.Event) protocol.Effects {
	if d, ok := ev.(protocol.Delivery); ok && m.sides.hidden(d.Data, m.second) {
		ev = protocol.Tick{}
	}
	return m.Machine.Step(now, ev)
}

// behind is an honest member's machine as the row's broker treats it.
func (row cheater) behind(m protocol.Machine, name string, s *sides) protocol.Machine {
	if row.shows == "" {
		return m
	}
	return shown{m, s, strings.Contains(row.shows, name)}
}

// splitFaced has the broker show a second version of every message of one kind to some.
func splitFaced[M protocol.Message](change func(c *cheat, m M)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			change(c, m)
			second := protocol.Outgoing{Subject: o.Subject, Data: c.sign(c.key, c.self, m)}
			if c.sides != nil {
				c.sides.add(o.Data, false)
				c.sides.add(second.Data, true)
			}
			return []protocol.Outgoing{o, second}
		})
	}
}

// lastAggregate publishes 7 more than the sum of the partial sums in the last round, and the model that
// follows from it.
func lastAggregate(c *cheat) {
	each(c, func(m *resulting, o protocol.Outgoing) []protocol.Outgoing {
		if m.Round != c.s.Plan.Rounds || m.Outcome == protocol.OutcomeVoid {
			return []protocol.Outgoing{o}
		}
		sum, _ := protocol.UnpackInts(c.store("last/sum"))
		next, _ := protocol.UnpackInts(c.store("model"))
		sum[0], next[0] = sum[0]+7, next[0]+7
		ctx := c.s.ResultContext(c.link(protocol.Everyone, m.Round), m)
		sealed := c.box(ctx).Seal(nil, 0, true, protocol.AppendInts(nil, sum))
		m.Aggregate, m.Next = c.digest(m.Round, sum), c.digest(m.Round, next)
		m.Chunks[0] = protocol.NewChunkHash().Digest(sealed)
		ch := &protocol.Chunk{Plan: c.s.ID.Prefix(), Context: ctx, Last: true, Ciphertext: sealed}
		c.stored["sealed"] = sealed
		return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(c.key, c.self, m)},
			{Subject: c.s.SubjectResult(m.Round, m.Attempt, "0"), Data: must(ch.Marshal())}}
	})
	eachChunk(func(c *cheat, ch *protocol.Chunk) {
		if ch.Round == c.s.Plan.Rounds && c.stored["sealed"] != nil {
			ch.Ciphertext = c.stored["sealed"]
		}
	})(c)
}

// isLastConfirm reports whether a message is a node's Confirm of the last round of the table's session.
func isLastConfirm(data []byte) bool {
	e, err := protocol.UnmarshalEnvelope(data)
	if err != nil {
		return false
	}
	m, err := protocol.Decode(e)
	c, ok := m.(*protocol.Confirm)
	return err == nil && ok && int(c.Round) == cheater{}.table().Rounds
}

// helped are cheats of the aggregator that a node helps with.
var helped = []cheater{
	{what: "another aggregate, and a node confirms it", who: "agg", deaf: isLastConfirm, does: lastAggregate,
		with: []cheater{{who: "c0", does: lie(func(c *cheat, m *protocol.Confirm) {
			if m.Round == c.s.Plan.Rounds {
				confirmMore(7)(c, m)
			}
		})}},
		comes: comes{sets: []int{4, 4}, wrong: true}},
}

// cheatingWithTheBroker: two versions of a message, each shown to some members only.
var cheatingWithTheBroker = []cheater{
	{what: "with the broker: two results", who: "agg", shows: "p1 p3",
		comes: comes{ends: protocol.ClassIntegrity, of: "p1", because: "result of round 1", sets: []int{4}},
		does: splitFaced(func(_ *cheat, m *resulting) {
			if len(m.Partials) > 0 {
				m.Partials[0][0] ^= 1
			}
		})},
	{what: "with the broker: one attempt on two models", who: "agg", shows: "p1 p3",
		comes: comes{ends: protocol.ClassIntegrity, of: "p1", because: "another model"},
		does:  splitFaced(func(_ *cheat, m *opening) { m.Model[0] ^= 1 })},
	{what: "with the broker: two lists", who: "c0", shows: "c2",
		comes: comes{ends: protocol.ClassQuorum, because: "signed different sets"},
		does:  splitFaced(func(_ *cheat, m *hold) { m.Entries = m.Entries[1:] })},
	{what: "with the broker: two agreements", who: "c0", shows: "c2",
		comes: comes{ends: protocol.ClassQuorum, because: "nothing has moved"},
		does:  splitFaced(func(_ *cheat, m *agreement) { m.Set[0] ^= 1 })},
	{what: "with the broker: two keys", who: "c0", shows: "p1 p3",
		comes: comes{refused: protocol.ErrMismatch, by: "c", nameless: true, ends: protocol.ClassQuorum,
			because: "nothing has moved"},
		does: splitFaced(func(_ *cheat, m *protocol.Key) { m.Public[0] ^= 1 })},
	{what: "with the broker: two confirms", who: "c0", shows: "p1 p3",
		comes: comes{ends: protocol.ClassIntegrity, of: "p1", because: "c0 confirmed another result",
			sets: []int{4}},
		does: splitFaced(func(_ *cheat, m *protocol.Confirm) { m.Result[0] ^= 1 })},
}
