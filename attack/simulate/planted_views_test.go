package simulate

import (
	"choir/crypto/field"
	"choir/internal/roletest"
	"choir/protocol"
)

// otherTotal has a node seal, besides its partial sum, the one without the first party of the set.
func otherTotal() seams {
	s := after(protocol.RoleCompute, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		for i, out := range eff.Send {
			_, msg, err := m.w.session.Receive(out.Data)
			p, ok := msg.(*protocol.Partial)
			if err != nil || !ok || i+1 >= len(eff.Send) {
				continue
			}
			c, err := protocol.UnmarshalChunk(eff.Send[i+1].Data)
			if err != nil {
				continue
			}
			c.Attempt++
			c.Salt[0] ^= 1
			v := doubled(m, p, eff.Send[i+1].Data, field.Neg(1))
			sealed, err := roletest.SealVector(m.w.session, m.w.oracle.link(c.From, c.To, c.Round), c.Context,
				field.AppendVector(nil, v))
			if err != nil {
				panic(err)
			}
			eff.Emit(m.w.session.SubjectPartial(c.From, c.Round, c.Attempt, "0"), sealed[0])
			return
		}
	})
	s.only = "adversary's view"
	return s
}

// shareForAll has a party seal its explicit share for the next node, too.
func shareForAll() seams {
	s := after(protocol.RoleParty, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		for _, out := range eff.Send {
			c, err := protocol.UnmarshalChunk(out.Data)
			if err != nil || c.Purpose != protocol.PurposeShare {
				continue
			}
			_, open := partialContext(m, out.Data)
			plain := open()
			node := m.w.session.Plan.Compute((int(c.To) - m.w.setup.Parties + 1) % m.w.setup.Computes)
			c.To = node
			sealed, err := roletest.SealVector(m.w.session, m.w.oracle.link(c.From, node, c.Round), c.Context,
				plain)
			if err != nil {
				panic(err)
			}
			eff.Emit(m.w.session.SubjectShare(c), sealed[0])
			return
		}
	})
	s.only = "adversary's view"
	return s
}

// agreeWithAll has nodes take the other nodes' Agrees for what they agreed to themselves.
func agreeWithAll() seams {
	return seams{machine: func(m *member, honest protocol.Machine) protocol.Machine {
		if m.role != protocol.RoleCompute {
			return honest
		}
		own := map[attempt]*protocol.Agree{}
		return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
			if d, ok := ev.(protocol.Delivery); ok {
				e, msg, err := m.w.session.Receive(d.Data)
				a, agrees := msg.(*protocol.Agree)
				if err == nil && agrees && int(e.From) != m.i && own[attempt{a.Round, a.Attempt}] != nil {
					mine := own[attempt{a.Round, a.Attempt}]
					a.Set, a.Count, a.Commitments = mine.Set, mine.Count, mine.Commitments
					d.Data = must(m.w.session.Sign(m.w.members[e.From].key, e.From, a))
					ev = d
				}
			}
			eff := inner.Step(now, ev)
			for _, out := range eff.Send {
				if _, msg, err := m.w.session.Receive(out.Data); err == nil {
					if a, ok := msg.(*protocol.Agree); ok {
						own[attempt{a.Round, a.Attempt}] = a
					}
				}
			}
			return eff
		}}
	}}
}
