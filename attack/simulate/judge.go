package simulate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/party"
	"choir/protocol"
)

// given is a contribution as its party sent it, opened by the oracle.
type given struct {
	bundle protocol.Digest
	shares []field.Vector // by node
	x      field.Vector   // their sum: update and noise
	noise  []int64
}

// settledRound is the state after a round's result.
type settledRound struct {
	set      []protocol.Entry
	accepted bool
	model    []int64
	noise    []int64 // everything random in the sum
}

// contributed opens a contribution with the oracle's keys and checks it.
func (o *oracle) contributed(m *member, c *protocol.Contribution) {
	k := key{uint32(m.i), attempt{c.Round, c.Attempt}}
	o.paid(m, k.at)
	g, err := o.open(k, c)
	if err != nil {
		o.violate("unsound contribution", "%s %s: %v", m.name, k.at, err)
		return
	}
	o.given[k] = g
	p, ok := o.updates[k]
	if !ok {
		o.violate("unsound contribution", "%s contributes to %s what nobody computed", m.name, k.at)
		return
	}
	ints, err := o.coordinates(g.x)
	if err != nil {
		o.violate("unsound contribution", "%s %s: %v", m.name, k.at, err)
		return
	}
	g.noise = minus(ints, p.Update)
	o.noisy(k, g.noise)
}

// coordinates decodes a vector of field elements.
func (o *oracle) coordinates(v field.Vector) ([]int64, error) {
	ints := make([]int64, len(v))
	fixedpoint.FromField(ints, v)
	return o.w.session.Plan.OpenSum(ints, protocol.AnySum)
}

// open adds up a contribution's shares.
func (o *oracle) open(k key, c *protocol.Contribution) (g *given, err error) {
	s := o.w.session
	g = &given{x: make(field.Vector, s.Plan.Elements())}
	if g.bundle, err = c.BundleDigest(s, k.party); err != nil {
		return nil, err
	}
	for n := range s.Plan.Computes() {
		ctx := c.Context(k.party, s.Plan.Compute(n))
		link := o.link(k.party, ctx.To, k.at.round)
		if link == nil {
			return nil, fmt.Errorf("no channel to node %d", n)
		}
		var v field.Vector
		if int(c.Explicit) == n {
			v, err = o.openVector(link, ctx)
		} else {
			v, err = o.expand(link, ctx)
		}
		if err != nil {
			return nil, err
		}
		g.shares = append(g.shares, v)
		g.x.Add(v)
	}
	return g, nil
}

func (o *oracle) expand(link *channel.Secret, ctx protocol.Context) (field.Vector, error) {
	mask, err := o.w.session.Mask(link, ctx)
	if err != nil {
		return nil, err
	}
	v := make(field.Vector, o.w.session.Plan.Elements())
	for i := range o.w.session.Chunks() {
		lo := i * xof.ChunkElements
		mask.Fill(v[lo:lo+o.w.session.ChunkLen(i)], uint64(i))
	}
	return v, nil
}

// openVector opens the chunks that were sent in a context.
func (o *oracle) openVector(link *channel.Secret, ctx protocol.Context) (field.Vector, error) {
	s := o.w.session
	v, list := make(field.Vector, s.Plan.Elements()), o.chunks[ctx]
	if len(list) != s.Chunks() {
		return nil, fmt.Errorf("%d chunks left, not %d", len(list), s.Chunks())
	}
	for i, sealed := range list {
		plain, err := s.OpenChunk(link, &protocol.Chunk{Plan: s.ID.Prefix(), Context: ctx, Index: uint32(i),
			Last: i == len(list)-1, Ciphertext: sealed})
		if err != nil {
			return nil, err
		}
		lo := i * xof.ChunkElements
		if err := field.DecodeVector(v[lo:lo+s.ChunkLen(i)], plain); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// noisy checks that a party adds the plan's noise, and fresh noise each time.
func (o *oracle) noisy(k key, noise []int64) {
	silent := true
	for _, x := range noise {
		silent = silent && x == 0
		if x > 1<<40 || x < -1<<40 {
			o.violate("wrong noise", "party %d adds %d in %s: far beyond the plan's noise", k.party, x, k.at)
			return
		}
	}
	if silent != (o.w.setup.Noise != protocol.NoiseParty) {
		o.violate("wrong noise", "party %d in %s: silent is %t", k.party, k.at, silent)
	}
	if silent {
		return
	}
	d := protocol.IntDigest(protocol.DigestKey{}, noise)
	if before, ok := o.noises[d]; ok {
		o.violate("noise reused", "party %d in %s has the noise of party %d in %s", k.party, k.at, before.party,
			before.at)
	}
	o.noises[d] = k
}

// receipted checks that a receipt is for a contribution that its node lists.
func (o *oracle) receipted(m *member, r *protocol.Receipt) {
	at := nodeAt{uint32(m.i), attempt{r.Round, r.Attempt}}
	e := protocol.Entry{Party: r.Party, Bundle: r.Bundle}
	o.receipts[at] = append(o.receipts[at], e)
	for _, h := range o.holds[at] {
		o.lists(m, h, e)
	}
}

func (o *oracle) lists(m *member, h *protocol.Hold, e protocol.Entry) {
	if have, ok := protocol.Find(h.Entries, e.Party); (!ok || have != e) && !m.rewound {
		o.violate("broken receipt", "%s gave party %d a receipt in %d.%d and doesn't list it", m.name, e.Party,
			h.Round, h.Attempt)
	}
}

// resulted checks that the published aggregate is the sum of exactly the set's
// contributions, and that the model follows from it.
func (o *oracle) resulted(r *protocol.Result) {
	at := attempt{r.Round, r.Attempt}
	if r.Outcome == protocol.OutcomeVoid {
		o.calledVoid(at)
		return
	}
	if !o.allHonest() {
		return
	}
	if int(r.Round) != len(o.rounds) {
		o.violate("wrong result", "round %d is settled after %d rounds", r.Round, len(o.rounds)-1)
		return
	}
	before := o.rounds[len(o.rounds)-1]
	set := o.common(at, protocol.SetDigest(o.w.session, r.Round, r.Attempt, r.Set))
	now := &settledRound{set: set, noise: make([]int64, o.w.setup.Dim)}
	total := make([]int64, o.w.setup.Dim)
	for _, e := range set {
		k := key{e.Party, at}
		if g := o.given[k]; g != nil {
			total, now.noise = plus(total, plus(o.updates[k].Update, g.noise)), plus(now.noise, g.noise)
		}
	}
	for n := range o.w.setup.Computes {
		v := o.reveals[nodeRound{o.w.session.Plan.Compute(n), r.Round}]
		if v == nil || v.noise == nil {
			o.violate("wrong result", "round %d is settled without node %d's partial sum", r.Round, n)
			return
		}
		total, now.noise = plus(total, v.noise), plus(now.noise, v.noise)
	}
	next, err := o.w.app.Fold(r.Round, before.model, total)
	if now.accepted, now.model = err == nil, next; err != nil {
		now.model = before.model
	}
	if set == nil || r.Aggregate != o.digest(r.Round, total) ||
		r.Next != protocol.IntDigest(o.digests.Key(r.Round), now.model) ||
		now.accepted != (r.Outcome == protocol.OutcomeAccepted) {
		o.violate("wrong result", "%s: the result isn't the sum over the set, or the model not what it leads to",
			at)
	}
	o.rounds = append(o.rounds, now)
}

// calledVoid checks that an honest aggregator calls no attempt void in which a node has revealed. A node that
// lies may have told it and another node different things.
func (o *oracle) calledVoid(at attempt) {
	o.voided[at] = true
	for n := range o.w.setup.Computes {
		v := o.reveals[nodeRound{o.w.session.Plan.Compute(n), at.round}]
		if o.allNodes() && v != nil && v.at == at {
			o.violate("void reveal", "%s is called void after node %d revealed", at, n)
		}
	}
}

// digest is the digest of a round's sum as it is published.
func (o *oracle) digest(round uint32, sum []int64) (d protocol.Digest) {
	ints, err := o.w.session.Plan.Integers(make([]int64, o.w.session.Plan.Elements()), sum)
	if err != nil {
		return d
	}
	return protocol.IntDigest(o.digests.Key(round), ints)
}

// settled checks that a party's model follows from the results, and that its
// private state is the sum of its counted updates, without noise.
func (o *oracle) settled(m *member) {
	if m.party == nil || !o.answers(m.i) {
		return
	}
	if !o.allHonest() {
		o.settledAmongLiars(m)
		return
	}
	at := [2]int{m.incarnation, int(m.party.Settled())}
	if o.checked[m.i] == at {
		return
	}
	o.checked[m.i] = at
	if at[1] >= len(o.rounds) {
		o.violate("out of step", "%s has settled %d rounds of %d", m.name, at[1], len(o.rounds)-1)
		return
	}
	if !bytes.Equal(protocol.AppendInts(nil, m.party.Model()), protocol.AppendInts(nil, o.rounds[at[1]].model)) {
		o.violate("out of step", "%s's model after round %d isn't the published one", m.name, at[1])
	}
	if !bytes.Equal(m.party.State(), o.factor(uint32(m.i), at[1])) {
		o.violate("out of step", "%s's private state after round %d isn't the sum of its counted updates", m.name,
			at[1])
	}
}

// settledAmongLiars checks what a party may rely on under any liar, if a node is honest: it has settled what
// the node has revealed, with the model that all honest parties have, and its private state has of each round
// what it contributed to the revealed set, or nothing. If all nodes are honest, the model follows from what
// they revealed.
func (o *oracle) settledAmongLiars(m *member) {
	stored := m.disk.durable["settled"] // what it works with may still lack a Confirm
	if len(stored) != 4 {
		return
	}
	round := int(binary.BigEndian.Uint32(stored))
	if at := [2]int{m.incarnation, round}; o.checked[m.i] != at {
		o.checked[m.i] = at
	} else {
		return
	}
	before := o.models[round-1]
	model, _ := protocol.UnpackInts(m.disk.durable["model"])
	if have, ok := o.models[round]; ok && !slices.Equal(have, model) {
		o.violate("out of step", "%s's model after round %d isn't the one of other parties", m.name, round)
	}
	o.models[round] = model
	var all []*reveal
	for n := range o.w.setup.Computes {
		node := o.w.session.Plan.Compute(n)
		r := o.reveals[nodeRound{node, uint32(round)}]
		switch {
		case !o.answers(int(node)) || round == 0:
		case r == nil || r.sum == nil:
			o.violate("wrong result", "%s has settled round %d, and node %d has not revealed in it", m.name, round,
				n)
		default:
			all = append(all, r)
		}
	}
	if len(all) == o.w.setup.Computes && before != nil {
		o.leadsTo(m, all, before, model)
	}
	if len(all) > 0 && !o.mayHave(m, m.disk.durable["state"], round) {
		o.violate("out of step", "%s's private state after round %d isn't of its counted updates", m.name, round)
	}
}

// leadsTo checks that a model follows from what all nodes have revealed.
func (o *oracle) leadsTo(m *member, all []*reveal, before, model []int64) {
	sum := make(field.Vector, o.w.session.Plan.Elements())
	for _, r := range all {
		sum.Add(r.sum)
	}
	want := before
	if total, err := o.coordinates(sum); err == nil {
		if next, err := o.w.app.Fold(all[0].at.round, before, total); err == nil {
			want = next
		}
	}
	if !slices.Equal(model, want) && !slices.Equal(model, before) {
		o.violate("wrong result", "%s's model after round %d isn't what the nodes' sums lead to", m.name,
			all[0].at.round)
	}
}

// mayHave reports whether a party's private state can be what it is after some rounds.
func (o *oracle) mayHave(m *member, state []byte, rounds int) bool {
	if rounds == 0 {
		return bytes.Equal(state, o.w.app.InitialState())
	}
	if o.mayHave(m, state, rounds-1) {
		return true // the round was rejected, or it isn't counted
	}
	for n := range o.w.setup.Computes {
		r := o.reveals[nodeRound{o.w.session.Plan.Compute(n), uint32(rounds)}]
		if r == nil {
			continue
		}
		k := key{uint32(m.i), r.at}
		e, in := protocol.Find(r.set, k.party)
		have, _ := protocol.Ints(state)
		if g := o.given[k]; in && g != nil && g.bundle == e.Bundle &&
			o.mayHave(m, protocol.AppendInts(nil, minus(have, o.updates[k].Update)), rounds-1) {
			return true
		}
	}
	return false
}

// factor is the correct private state of a party.
func (o *oracle) factor(party uint32, rounds int) []byte {
	state, _ := protocol.Ints(o.w.app.InitialState())
	for round, r := range o.rounds[:rounds+1] {
		e, in := protocol.Find(r.set, party)
		if !in || !r.accepted {
			continue
		}
		for k, g := range o.given {
			if k.party == party && int(k.at.round) == round && g.bundle == e.Bundle {
				state = plus(state, o.updates[k].Update)
			}
		}
	}
	return protocol.AppendInts(nil, state)
}

// balance checks, on the integers, that global model - prior - factors is the
// noise of the accepted rounds.
func (o *oracle) balance() {
	rest := minus(o.rounds[len(o.rounds)-1].model, o.rounds[0].model)
	for i := range o.w.setup.Parties {
		f, _ := protocol.Ints(o.factor(uint32(i), len(o.rounds)-1))
		rest = minus(rest, f)
	}
	for _, r := range o.rounds[1:] {
		if r.accepted {
			rest = minus(rest, r.noise)
		}
	}
	for i, x := range rest {
		if x != 0 {
			o.violate("out of balance", "coordinate %d: global - prior - factors - noise = %d", i, x)
			return
		}
	}
}

// allHonest reports whether all members are honest: then the oracle knows every
// number.
func (o *oracle) allHonest() bool { return o.w.seams.honest == nil && o.w.chaos.counts["lie"] == 0 }

var _ party.Ledger = (*account)(nil)
