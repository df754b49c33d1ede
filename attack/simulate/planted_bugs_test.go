package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/internal/roletest"
	"choir/protocol"
)

// revealTwice reveals a second vector at the next tick.
func revealTwice() seams {
	return after(protocol.RoleCompute, func(m *member, ev protocol.Event, eff *protocol.Effects) {
		if _, tick := ev.(protocol.Tick); !tick {
			return
		}
		for i, o := range eff.Send {
			if b := resign(m, o.Data, func(msg protocol.Message) bool {
				p, ok := msg.(*protocol.Partial)
				if ok {
					p.Vector[0] ^= 1
				}
				return ok
			}); b != nil {
				eff.Send[i].Data = b
			}
		}
	})
}

// forgetOwn persists what the other nodes signed, not what this one did.
func forgetOwn(m *member, _ protocol.Event, eff *protocol.Effects) {
	eff.Persist = slices.DeleteFunc(eff.Persist, func(r protocol.Record) bool {
		return strings.HasPrefix(r.Key, "hold/") && strings.HasSuffix(r.Key, fmt.Sprintf("/%d", m.i))
	})
}

// reuseNoise restarts a party's random numbers for every contribution.
func reuseNoise() seams {
	draws := map[*member]*rewound{}
	return seams{
		random: func(m *member, r io.Reader) io.Reader {
			draws[m] = &rewound{Reader: r}
			return draws[m]
		},
		machine: func(m *member, honest protocol.Machine) protocol.Machine {
			return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
				if _, ok := ev.(protocol.Proposal); ok {
					draws[m].Reader = random(m.w.setup.Seed, uint32(m.i), 0)
				}
				return inner.Step(now, ev)
			}}
		},
	}
}

type rewound struct{ io.Reader }

func offByOne(_ *member, _ protocol.Event, eff *protocol.Effects) {
	for i, o := range eff.Send {
		c, err := protocol.UnmarshalChunk(o.Data)
		if err != nil {
			continue
		}
		c.Index++
		if b, err := c.Marshal(); err == nil {
			eff.Send[i].Data = b
		}
	}
}

// chargeLater makes a charge durable one step after the messages are sent.
func chargeLater() seams {
	late := map[*member][]protocol.Record{}
	return after(protocol.RoleParty, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		eff.Persist = append(eff.Persist, late[m]...)
		late[m] = nil
		for i, r := range eff.Persist {
			if strings.HasPrefix(r.Key, "ledger/") && len(eff.Send) > 0 {
				late[m] = append(late[m], r)
				eff.Persist = slices.Delete(eff.Persist, i, i+1)
				return
			}
		}
	})
}

type noisyApp struct{ toy }

func (a noisyApp) Settle(round uint32, state, memo []byte) ([]byte, error) {
	u, _ := protocol.Ints(memo)
	u = append([]int64(nil), u...)
	u[0] += 12345 // what the noise did to it
	return a.toy.Settle(round, state, protocol.AppendInts(nil, u))
}

// settleUncounted adds an update that the result doesn't count to the private state.
func settleUncounted() seams {
	return after(protocol.RoleParty, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		memo := m.disk.durable["memo"]
		uncounted := slices.ContainsFunc(eff.Notices,
			func(n protocol.Notice) bool { return n.Code == protocol.NoteUncounted })
		if !uncounted || memo == nil {
			return
		}
		for i, r := range eff.Persist {
			if r.Key == "state" {
				eff.Persist[i].Value, _ = m.w.app.Settle(1, r.Value, memo)
			}
		}
	})
}

// agreeOnUnion signs everything that any node holds.
func agreeOnUnion() seams {
	return resignChanged(protocol.RoleCompute, func(m *member, a *protocol.Agree) bool {
		union := map[uint32]protocol.Entry{}
		for at, all := range m.w.oracle.holds {
			if at.at == (attempt{a.Round, a.Attempt}) {
				for _, e := range all[0].Entries {
					union[e.Party] = e
				}
			}
		}
		var set []protocol.Entry
		for i := range uint32(m.w.setup.Parties) {
			if e, ok := union[i]; ok {
				set = append(set, e)
			}
		}
		a.Count, a.Set = uint32(len(set)), protocol.SetDigest(m.w.session, a.Round, a.Attempt, set)
		return true
	})
}

// countTwice adds the first party's share twice to a node's partial sum.
func countTwice() seams {
	return after(protocol.RoleCompute, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		for i, o := range eff.Send {
			var wrong field.Vector
			b := resign(m, o.Data, func(msg protocol.Message) bool {
				p, ok := msg.(*protocol.Partial)
				if ok {
					wrong = doubled(m, p, eff.Send[i+1].Data, 1)
					agg := m.w.session.Plan.Aggregator()
					link := m.w.oracle.link(uint32(m.i), agg, p.Round)
					o := must(m.w.session.OpenOpening(link, uint32(m.i), p))
					p.Vector = protocol.VectorDigest(wrong, o)
				}
				return ok
			})
			if b != nil {
				eff.Send[i].Data = b
				eff.Send[i+1].Data = resealed(m, eff.Send[i+1].Data, wrong)
			}
		}
	})
}

func partialContext(m *member, data []byte) (*protocol.Chunk, func() []byte) {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil {
		panic(err)
	}
	return c, func() []byte {
		plain, err := m.w.session.OpenChunk(m.w.oracle.link(c.From, c.To, c.Round), c)
		if err != nil {
			panic(err)
		}
		return plain
	}
}

// doubled is a partial sum with the share of the set's first party some times more.
func doubled(m *member, p *protocol.Partial, chunk []byte, times field.Element) field.Vector {
	_, open := partialContext(m, chunk)
	v := make(field.Vector, m.w.session.Plan.Elements())
	if err := field.DecodeVector(v[:min(len(v), xof.ChunkElements)], open()); err != nil {
		panic(err)
	}
	at := attempt{p.Round, p.Attempt}
	for _, e := range m.w.oracle.common(at, p.Set)[:1] {
		for i, x := range m.w.oracle.given[key{e.Party, at}].shares[m.i-m.w.setup.Parties] {
			v[i] = field.Add(v[i], field.Mul(times, x))
		}
	}
	return v
}

func resealed(m *member, data []byte, v field.Vector) []byte {
	c, _ := partialContext(m, data)
	secret := m.w.oracle.link(c.From, c.To, c.Round)
	messages, err := roletest.SealVector(m.w.session, secret, c.Context, field.AppendVector(nil, v))
	if err != nil {
		panic(err)
	}
	return messages[0]
}

// voidEarly calls an attempt void that was revealed.
func voidEarly() seams {
	return resignChanged(protocol.RoleAggregator, func(_ *member, r *protocol.Result) bool {
		*r = protocol.Result{Round: r.Round, Attempt: r.Attempt, Outcome: protocol.OutcomeVoid}
		return true
	})
}

// noiseAgain makes a new share instead of retransmitting the old one.
func noiseAgain() seams {
	n := byte(0)
	return after(protocol.RoleParty, func(m *member, ev protocol.Event, eff *protocol.Effects) {
		if _, tick := ev.(protocol.Tick); !tick {
			return
		}
		for i, o := range eff.Send {
			if c, err := protocol.UnmarshalChunk(o.Data); err == nil {
				n++
				c.Ciphertext[0] ^= n | 1
				eff.Send[i].Data, _ = c.Marshal()
			}
		}
	})
}

// wrongPath sends receipts whose path to the root begins with another hash than
// their neighbour's.
func wrongPath(m *member, _ protocol.Event, eff *protocol.Effects) {
	for i, o := range eff.Send {
		e, msg, err := m.w.session.Receive(o.Data)
		r, ok := msg.(*protocol.Receipt)
		if err != nil || !ok || len(r.Path) == 0 {
			continue
		}
		r.Path[0] = r.Bundle
		b, err := m.w.session.Sign(m.key, e.From, r)
		if err != nil {
			panic(err)
		}
		changed, err := protocol.UnmarshalEnvelope(b)
		if err != nil {
			panic(err)
		}
		e.Body = changed.Body
		if eff.Send[i].Data, err = e.Marshal(); err != nil {
			panic(err)
		}
	}
}
