package simulate

import (
	"encoding/binary"
	"slices"

	"choir/crypto/field"
	"choir/protocol"
)

// cheater is a row: what one member does, and what must come of it.
type cheater struct {
	what  string
	who   string                 // the cheat: p0, c0 or agg
	does  func(*cheat)           // on the effects of every step
	deaf  func(data []byte) bool // what it pretends not to have received
	with  []cheater              // what others do at the same time
	audit bool                   // under a plan with audit
	pairs bool                   // under a plan with two coordinates in an element
	shape Shape                  // the plan's; 0: the table's
	terms bool                   // with the shape's N_min and noise
	shows string                 // names of the members to which the broker shows the second version
	comes comes
}

// comes is what must come of it, as the honest members see it.
type comes struct {
	refused   error          // the reason of a refusal, nil: there is none
	by        string         // who refuses: a prefix of names
	nameless  bool           // the refusal can't name the cheat
	ends      protocol.Class // 0: the session completes
	of        string         // who ends so: a prefix of names, "": all honest members
	because   string         // part of how it ends; it names the culprit where one can be named
	sets      []int          // sizes of the sums that were revealed, by round, with four parties
	uncounted string         // who is left out of round 1
	wrong     bool           // the aggregate isn't the sum of the counted updates, without detection
	rejected  bool           // the sum is out of range: the round is lost, the model stays
}

// whole is how the session ends when the cheat achieves nothing.
func whole(by string, why error) comes { return comes{refused: why, by: by, sets: []int{4, 4}} }

// without is how it ends when the cheating party is left out.
func without(by string, why error) comes {
	return comes{refused: why, by: by, sets: []int{3, 3}, uncounted: "p0"}
}

// stalled is the outcome when a node's message is missing: nothing is revealed,
// and the aggregator gives up.
func stalled(by string, why error) comes {
	return comes{refused: why, by: by, ends: protocol.ClassQuorum, because: "nothing has moved"}
}

func cheaters() []cheater {
	return slices.Concat(cheatingParties, cheatingContributions, cheatingNodes, cheatingSums,
		cheatingAggregators, cheatingResults,
		cheatingWithTheBroker, helped, audited(), cheatingPairs())
}

// liars are the row and those with it.
func (row cheater) liars() []cheater { return append([]cheater{row}, row.with...) }

// lies reports whether a member lies in the row.
func (row cheater) lies(name string) bool {
	return slices.ContainsFunc(row.liars(), func(r cheater) bool { return r.who == name })
}

type (
	contribution = protocol.Contribution
	hold         = protocol.Hold
	agreement    = protocol.Agree
	partialSum   = protocol.Partial
	resulting    = protocol.Result
	opening      = protocol.Round
)

// stranger is a key that is not on the roster.
var stranger = newSigner(0xbad, 0)

// cheatingParties: channels, names and times.
var cheatingParties = []cheater{
	{what: "contribution under a wrong signature", who: "p0", comes: without("c", protocol.ErrSignature),
		does: func(c *cheat) {
			each(c, func(m *contribution, o protocol.Outgoing) []protocol.Outgoing {
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(stranger, c.self, m)}}
			})
		}},
	{what: "Sybil: a stranger as a further member", who: "p0",
		comes: comes{refused: protocol.ErrUnknown, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does: func(c *cheat) {
			each(c, func(m *contribution, o protocol.Outgoing) []protocol.Outgoing {
				return []protocol.Outgoing{{Subject: o.Subject,
					Data: c.sign(stranger, uint32(len(c.s.Plan.Members)), m)}}
			})
		}},
	{what: "contribution in another party's name", who: "p0",
		comes: comes{refused: protocol.ErrSignature, by: "c", nameless: true, sets: []int{4, 4}},
		does: func(c *cheat) {
			each(c, func(m *contribution, o protocol.Outgoing) []protocol.Outgoing {
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(c.key, 1, m)}, o}
			})
		}},
	{what: "share in another party's name", who: "p0",
		comes: comes{refused: protocol.ErrSealed, by: "c", nameless: true, sets: []int{4, 4}},
		does: func(c *cheat) { // it succeeds if it arrives before the party's own
			for _, o := range slices.Clone(c.eff.Send) {
				ch, err := protocol.UnmarshalChunk(o.Data)
				if err != nil {
					continue
				}
				for i := range uint32(c.s.Plan.Parties() - 1) { // for any party with an explicit share at the node
					ch.From = i + 1
					c.eff.Send = append([]protocol.Outgoing{{Subject: o.Subject, Data: must(ch.Marshal())}}, c.eff.Send...)
				}
			}
		}},
	{what: "another plan", who: "p0", comes: without("c", protocol.ErrWrongPlan),
		does: func(c *cheat) {
			c.s.ID[0] ^= 1
			each(c, func(m *contribution, o protocol.Outgoing) []protocol.Outgoing {
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(c.key, c.self, m)}}
			})
			c.s.ID[0] ^= 1
		}},
	{what: "share of another plan", who: "p0",
		comes: comes{refused: protocol.ErrWrongPlan, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does:  eachChunk(func(_ *cheat, ch *protocol.Chunk) { ch.Plan[0] ^= 1 })},
	{what: "a node's message from a party", who: "p0", comes: whole("c", protocol.ErrUnknown),
		does: func(c *cheat) {
			if n, ok := c.noticed(protocol.NoteContributed); ok {
				c.say(c.s.SubjectHold(c.s.Plan.Compute(0), n.Round, n.Attempt), &hold{Round: n.Round, Attempt: n.Attempt})
			}
		}},
	{what: "a second channel", who: "p0", comes: whole("c", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *protocol.Open) { m.Enc[0] ^= 1 })},
	{what: "a channel to a key that isn't the node's", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(c *cheat, m *protocol.Open) {
			if m.To != c.s.Plan.Aggregator() {
				m.Key[0] ^= 1
			}
		})},
	{what: "a channel that opens to another secret", who: "p0", comes: without("c", protocol.ErrSealed),
		does: lie(func(c *cheat, m *protocol.Open) {
			if m.To == c.s.Plan.Compute(0) {
				m.Enc[0] ^= 1
			}
		})},
	{what: "silence after joining", who: "p0", comes: without("", nil),
		does: func(c *cheat) { silent[*contribution]()(c) }},
	{what: "an input that isn't its update", who: "p0", comes: comes{sets: []int{4, 3}, wrong: true},
		does: func(c *cheat) {
			c.vector(func(v field.Vector) []byte {
				v[0] = field.Add(v[0], 1000)
				return field.AppendVector(nil, v)
			})
		}},
	{what: "an input beyond all bounds", who: "p0", comes: comes{sets: []int{4, 3}, rejected: true},
		does: func(c *cheat) {
			c.vector(func(v field.Vector) []byte {
				v[0] = field.Add(v[0], 1<<62)
				return field.AppendVector(nil, v)
			})
		}},
}

// cheatingContributions: a party's manifests and vectors.
var cheatingContributions = []cheater{
	{what: "contribution replayed from an earlier round", who: "p0",
		comes: comes{refused: protocol.ErrStale, by: "c", sets: []int{4, 3}},
		does: func(c *cheat) {
			each(c, func(m *contribution, o protocol.Outgoing) []protocol.Outgoing {
				if m.Round == 1 {
					c.stored["first"] = o.Data
					return []protocol.Outgoing{o}
				}
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.stored["first"]}}
			})
		}},
	{what: "contribution to an attempt that is not open", who: "p0", comes: without("c", protocol.ErrEarly),
		does: lie(func(_ *cheat, m *contribution) { m.Attempt++ })},
	{what: "contribution to another model", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(c *cheat, m *contribution) { m.Model[0] ^= 1; c.confirm(m) })},
	{what: "contribution after another result", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(c *cheat, m *contribution) { m.Last[0] ^= 1; c.confirm(m) })},
	{what: "two contributions", who: "p0", comes: whole("c", protocol.ErrEquivocate),
		does: twoFaced(func(c *cheat, m *contribution) { m.Vector[0] ^= 1; c.confirm(m) })},
	{what: "account of another share than was sent", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(c *cheat, m *contribution) { m.Vector[0] ^= 1; c.confirm(m) })},
	{what: "explicit share at another node's", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(c *cheat,
			m *contribution) {
			m.Explicit = (m.Explicit + 1) % uint32(len(m.Confirm))
			c.confirm(m)
		})},
	{what: "too few confirmations", who: "p0", comes: without("c", protocol.ErrMismatch),
		does: lie(func(_ *cheat, m *contribution) { m.Explicit, m.Confirm = 0, m.Confirm[:len(m.Confirm)-1] })},
	{what: "wrong confirmation for one node", who: "p0", comes: without("c1", protocol.ErrSealed),
		does: lie(func(_ *cheat, m *contribution) { m.Confirm[1][0] ^= 1 })},
	{what: "altered share", who: "p0",
		comes: comes{refused: protocol.ErrSealed, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does:  eachChunk(func(_ *cheat, ch *protocol.Chunk) { ch.Ciphertext[0] ^= 1 })},
	{what: "two shares", who: "p0",
		comes: comes{refused: protocol.ErrEquivocate, by: "c", nameless: true, sets: []int{4, 4}},
		does: func(c *cheat) {
			for _, o := range slices.Clone(c.eff.Send) {
				if ch, err := protocol.UnmarshalChunk(o.Data); err == nil {
					v := c.open(ch)
					v[0] = field.Add(v[0], 1)
					ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, field.AppendVector(nil, v))
					c.eff.Emit(o.Subject, must(ch.Marshal()))
				}
			}
		}},
	{what: "truncated vector", who: "p0",
		comes: comes{refused: protocol.ErrMalformed, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does: func(c *cheat) {
			c.vector(func(v field.Vector) []byte { return field.AppendVector(nil, v[1:]) })
		}},
	{what: "padded vector", who: "p0",
		comes: comes{refused: protocol.ErrMalformed, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does: func(c *cheat) {
			c.vector(func(v field.Vector) []byte { return field.AppendVector(nil, append(v, 0)) })
		}},
	{what: "element that isn't canonical", who: "p0",
		comes: comes{refused: field.ErrNonCanonical, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does: func(c *cheat) {
			c.vector(func(v field.Vector) []byte {
				b := field.AppendVector(nil, v)
				binary.LittleEndian.PutUint64(b, field.Modulus)
				return b
			})
		}},
	{what: "chunk beyond the vector's end", who: "p0",
		comes: comes{refused: protocol.ErrMalformed, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does:  eachChunk(func(_ *cheat, ch *protocol.Chunk) { ch.Index++ })},
	{what: "vector without an end", who: "p0",
		comes: comes{refused: protocol.ErrMalformed, by: "c", nameless: true, sets: []int{3, 3}, uncounted: "p0"},
		does:  eachChunk(func(_ *cheat, ch *protocol.Chunk) { ch.Last = false })},
	{what: "a chunk of a result under the group key", who: "p0",
		comes: whole("", nil),
		does: func(c *cheat) {
			if n, ok := c.noticed(protocol.NoteContributed); ok && c.once("forged") {
				ctx := protocol.Context{From: c.s.Plan.Aggregator(), To: protocol.Everyone, Round: n.Round,
					Attempt: n.Attempt, Purpose: protocol.PurposeResult}
				ch := &protocol.Chunk{Plan: c.s.ID.Prefix(), Context: ctx, Last: true,
					Ciphertext: c.box(ctx).Seal(nil, 0, true, protocol.AppendInts(nil, make([]int64, c.s.Plan.Dim)))}
				c.eff.Send = append([]protocol.Outgoing{{Subject: c.s.SubjectResult(n.Round, n.Attempt, "0"),
					Data: must(ch.Marshal())}}, c.eff.Send...)
			}
		}},
	{what: "garbage on the bus", who: "p0",
		comes: comes{refused: protocol.ErrMalformed, by: "c", nameless: true, sets: []int{4, 4}},
		does: func(c *cheat) {
			if n, ok := c.noticed(protocol.NoteContributed); ok {
				c.eff.Emit(c.s.SubjectContribution(c.self, n.Round, n.Attempt), []byte{6, 0, 1})
			}
		}},
}

// cheatingAggregators: rounds, channels and aborts.
var cheatingAggregators = []cheater{
	{what: "round on another model", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "another model"},
		does:  lie(func(_ *cheat, m *opening) { m.Model[0] ^= 1 })},
	{what: "round on a stale model", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "another model", sets: []int{4}},
		does: lie(func(c *cheat,
			m *opening) {
			m.Model = c.digest(m.Round-1, toy{dim: int(c.s.Plan.Dim)}.Initial())
		})},
	{what: "one attempt on two models", who: "agg", comes: whole("c", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *opening) { m.Model[0] ^= 1 })},
	{what: "round after another result", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "after another result"},
		does:  lie(func(_ *cheat, m *opening) { m.Last[0] ^= 1 })},
	{what: "a round beyond the plan", who: "agg", comes: whole("c", protocol.ErrMismatch),
		does: func(c *cheat) {
			if c.once("beyond") {
				c.say(c.s.SubjectControl(), &opening{Round: 99, Attempt: 1})
			}
		}},
	{what: "request for a second set", who: "agg", comes: whole("c", protocol.ErrRevealed),
		does: func(c *cheat) {
			if n, ok := c.noticed(protocol.NoteResult); ok {
				if _, m, err := c.s.Receive(c.view.Get("round")); err == nil {
					again := *m.(*opening)
					again.Attempt = n.Attempt + 1
					c.say(c.s.SubjectControl(), &again)
				}
			}
		}},
	{what: "a second group key", who: "agg", comes: whole("p", protocol.ErrEquivocate),
		does: func(c *cheat) {
			each(c, func(m *protocol.Group, o protocol.Outgoing) []protocol.Outgoing {
				sealed := must(c.s.SealGroup(c.link(m.To, 1), m.To, make([]byte, 32)))
				return []protocol.Outgoing{o,
					{Subject: o.Subject, Data: c.sign(c.key, c.self, &protocol.Group{To: m.To, Sealed: sealed})}}
			})
		}},
	{what: "an abort without a reason", who: "agg",
		comes: comes{ends: protocol.ClassQuorum, of: "p", because: "at will"},
		does: func(c *cheat) {
			if _, ok := c.noticed(protocol.NoteRound); ok {
				c.say(c.s.SubjectControl(), &protocol.Abort{Class: uint8(protocol.ClassQuorum), Reason: "at will"})
			}
		}},
}

// cheatingResults: what it publishes.
var cheatingResults = []cheater{
	{what: "another aggregate, consistently", who: "agg", deaf: isConfirm,
		comes: comes{ends: protocol.ClassIntegrity, of: "p",
			because: "the aggregate is not the sum of the partial sums", sets: []int{4}},
		does: otherAggregate},
	{what: "another sum of traces", who: "agg", deaf: isConfirm,
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "the sum of the traces", sets: []int{4}},
		does:  lieOfResult(func(_ *cheat, m *resulting) { m.Trace[0] ^= 1 })},
	{what: "another aggregate than signed", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p",
			because: "the aggregate is not the one that was signed", sets: []int{4}},
		does: lie(func(_ *cheat, m *resulting) { m.Aggregate[0] ^= 1 })},
	{what: "a model that the aggregate doesn't lead to", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "does not lead to the model",
			sets: []int{4}},
		does: lie(func(_ *cheat, m *resulting) { m.Next[0] ^= 1 })},
	{what: "a result over another set", who: "agg",
		deaf: isConfirm, comes: stalled("c", protocol.ErrMismatch),
		does: lieOfResult(func(_ *cheat, m *resulting) { m.Set = m.Set[1:] })},
	{what: "a result that names a node", who: "agg", comes: whole("p", protocol.ErrUnknown),
		does: twoFaced(func(c *cheat, m *resulting) {
			m.Set = append(m.Set, protocol.Entry{Party: c.s.Plan.Compute(1)})
		})},
	{what: "rejected, though it isn't", who: "agg",
		comes: comes{ends: protocol.ClassIntegrity, of: "p", because: "outcome is rejected", sets: []int{4}},
		does:  lie(func(_ *cheat, m *resulting) { m.Outcome = protocol.OutcomeRejected })},
	{what: "void, though it was revealed", who: "agg",
		comes: comes{refused: protocol.ErrRevealed, by: "c", of: "none"},
		does: func(c *cheat) {
			each(c, func(m *resulting, o protocol.Outgoing) []protocol.Outgoing {
				m = &resulting{Round: m.Round, Attempt: m.Attempt, Outcome: protocol.OutcomeVoid}
				o.Data = c.sign(c.key, c.self, m)
				return []protocol.Outgoing{o,
					{Subject: c.s.SubjectControl(),
						Data: c.sign(c.key, c.self, &opening{Round: m.Round, Attempt: m.Attempt + 1})}}
			})
		}},
	{what: "void before the result", who: "agg", comes: whole("p", protocol.ErrEquivocate),
		does: func(c *cheat) {
			each(c, func(m *resulting, o protocol.Outgoing) []protocol.Outgoing {
				void := &resulting{Round: m.Round, Attempt: m.Attempt, Outcome: protocol.OutcomeVoid}
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(c.key, c.self, void)}, o}
			})
		}},
	{what: "false partial digests", who: "agg",
		deaf:  isConfirm,
		comes: comes{ends: protocol.ClassIntegrity, of: "c", because: "names another partial sum than"},
		does: lieOfResult(func(_ *cheat, m *resulting) {
			for i := range m.Partials {
				m.Partials[i][0] ^= 1
			}
		})},
	{what: "another bundle in the set", who: "agg",
		deaf: isConfirm,
		comes: comes{refused: protocol.ErrMismatch, by: "c", ends: protocol.ClassIntegrity, of: "p0",
			because: "a contribution that this party did not make"},
		does: lieOfResult(func(_ *cheat, m *resulting) {
			if len(m.Set) > 0 {
				m.Set[0].Bundle[0] ^= 1
			}
		})},
	{what: "two results", who: "agg", comes: whole("p", protocol.ErrEquivocate),
		does: twoFaced(func(_ *cheat, m *resulting) { m.Next[0] ^= 1 })},
}

// isConfirm reports whether a message is a node's Confirm, which an aggregator that lies ignores.
func isConfirm(data []byte) bool {
	e, err := protocol.UnmarshalEnvelope(data)
	return err == nil && e.Kind == protocol.KindConfirm
}

// lieOfResult changes the content of every result that is not void, and signs rounds that follow it.
func lieOfResult(change func(c *cheat, m *resulting)) func(*cheat) {
	return func(c *cheat) {
		lie(func(c *cheat, m *resulting) {
			if m.Outcome == protocol.OutcomeVoid {
				return
			}
			change(c, m)
			d := must(protocol.ResultDigest(m))
			c.stored["last"] = d[:]
		})(c)
		lie(func(c *cheat, m *opening) {
			if m.Round > 1 && c.stored["last"] != nil {
				m.Last = protocol.Digest(c.stored["last"])
			}
		})(c)
	}
}

// otherAggregate publishes something else than the sum of the partial sums, and signs for it and
// for the model that follows from it.
func otherAggregate(c *cheat) {
	var sum []int64
	var chunk protocol.Digest
	eachChunk(func(c *cheat, ch *protocol.Chunk) {
		v := must(c.box(ch.Context).Open(nil, ch.Index, ch.Last, ch.Ciphertext))
		sum, _ = protocol.Ints(v)
		sum[0] += 7
		ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, protocol.AppendInts(nil, sum))
		chunk = protocol.NewChunkHash().Digest(ch.Ciphertext)
	})(c)
	if sum == nil {
		return
	}
	var next []int64
	lieOfResult(func(c *cheat, m *resulting) {
		next = plus(toy{dim: int(c.s.Plan.Dim)}.Initial(), sum)
		m.Aggregate, m.Next, m.Chunks[0] = c.digest(m.Round, sum), c.digest(m.Round, next), chunk
	})(c)
	lie(func(c *cheat, m *opening) {
		if next != nil {
			m.Model = c.digest(m.Round-1, next)
		}
	})(c)
}
