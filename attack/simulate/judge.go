package simulate

import (
	"bytes"
	"fmt"

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

// reveal is what a node revealed in a round.
type reveal struct {
	at    attempt
	head  *protocol.Partial
	set   []protocol.Entry
	noise []int64 // of the node, nil until its vector was sent
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
	if h := o.holds[at]; h != nil {
		o.lists(m, h, e)
	}
}

func (o *oracle) lists(m *member, h *protocol.Hold, e protocol.Entry) {
	if have, ok := protocol.Find(h.Entries, e.Party); (!ok || have != e) && !m.rewound {
		o.violate("broken receipt", "%s gave party %d a receipt in %d.%d and doesn't list it", m.name, e.Party,
			h.Round, h.Attempt)
	}
}

func (o *oracle) held(m *member, h *protocol.Hold) {
	at := nodeAt{uint32(m.i), attempt{h.Round, h.Attempt}}
	o.holds[at] = h
	for _, e := range o.receipts[at] {
		o.lists(m, h, e)
	}
	for _, e := range h.Entries {
		g := o.given[key{e.Party, at.at}]
		if o.answers(int(e.Party)) && (g == nil || g.bundle != e.Bundle) {
			o.violate("invented", "%s lists a contribution of party %d to %s that it didn't make", m.name, e.Party,
				at.at)
		}
	}
}

// common is the intersection of all nodes' lists, nil before all were sent.
func (o *oracle) common(at attempt) []protocol.Entry {
	var all []*protocol.Hold
	for n := range o.w.setup.Computes {
		h := o.holds[nodeAt{o.w.session.Plan.Compute(n), at}]
		if h == nil {
			return nil
		}
		all = append(all, h)
	}
	return protocol.Intersect(all)
}

// agreed checks that a node signs the intersection of all lists.
func (o *oracle) agreed(m *member, a *protocol.Agree) {
	at := attempt{a.Round, a.Attempt}
	o.agrees[nodeAt{uint32(m.i), at}] = a
	if !o.allNodes() {
		return
	}
	set := o.common(at)
	if a.Set != protocol.SetDigest(o.w.session, a.Round, a.Attempt, set) || int(a.Count) != len(set) {
		o.violate("wrong set", "%s agrees in %s to another set than the %d that all nodes list", m.name, at,
			len(set))
	}
}

// allNodes reports whether the oracle checks every compute node.
func (o *oracle) allNodes() bool {
	for n := range o.w.setup.Computes {
		if !o.answers(o.w.setup.Parties + n) {
			return false
		}
	}
	return true
}

// revealed checks the main rule: one reveal a round, over the agreed set.
func (o *oracle) revealed(m *member, p *protocol.Partial) {
	at := attempt{p.Round, p.Attempt}
	r := &reveal{at: at, head: p, set: o.common(at)}
	o.reveals[nodeRound{uint32(m.i), p.Round}] = r
	if m.disk.durable[fmt.Sprintf("reveal/%d", p.Round)] == nil {
		o.violate("unrecorded reveal", "%s reveals in %s before the reveal is durable", m.name, at)
	}
	if own := o.agrees[nodeAt{uint32(m.i), at}]; own == nil || own.Set != p.Set ||
		int(own.Count) < o.w.setup.MinParties {
		o.violate("small set", "%s reveals in %s without having agreed to a set of %d", m.name, at,
			o.w.setup.MinParties)
	}
	if o.voided[at] {
		o.violate("void reveal", "%s reveals in %s, which is void", m.name, at)
	}
	if !o.allNodes() {
		return
	}
	for n := range o.w.setup.Computes {
		node := o.w.session.Plan.Compute(n)
		if a := o.agrees[nodeAt{node, at}]; a == nil || a.Set != p.Set {
			o.violate("no agreement", "%s reveals in %s what node %d hasn't agreed to", m.name, at, n)
		}
		if other := o.reveals[nodeRound{node, p.Round}]; other != nil &&
			(other.at != at || other.head.Set != p.Set) {
			o.violate("two totals", "%s reveals in %s, node %d in %s", m.name, at, n, other.at)
		}
	}
	if len(r.set) < o.w.setup.MinParties {
		o.violate("small set", "%s reveals a sum of %d in %s", m.name, len(r.set), at)
	}
}

// opened checks a node's revealed vector, once all of it was sent: the shares of
// the set, and the node's noise if the plan places it there.
func (o *oracle) opened(node, round uint32) {
	r, s := o.reveals[nodeRound{node, round}], o.w.session
	if r == nil || !o.allNodes() {
		return
	}
	ctx := o.sealed[unsalted(s.PartialContext(node, round, r.at.attempt, r.head.Vector))]
	if len(o.chunks[ctx]) < s.Chunks() {
		return
	}
	link := o.link(node, ctx.To, round)
	v, err := o.openVector(link, ctx)
	opening, badOpening := s.OpenOpening(link, node, r.head)
	if err != nil || badOpening != nil || protocol.VectorDigest(v, opening) != r.head.Vector {
		o.violate("wrong sum", "node %d reveals in %s another vector than it signed: %v", node, r.at, err)
		return
	}
	if !o.allHonest() {
		return
	}
	for _, e := range r.set {
		if g := o.given[key{e.Party, r.at}]; g != nil {
			v.Sub(g.shares[int(node)-o.w.setup.Parties])
		}
	}
	if r.noise, err = o.coordinates(v); err != nil {
		o.violate("wrong sum", "node %d reveals in %s what isn't coordinates: %v", node, r.at, err)
		return
	}
	silent := true
	for _, x := range r.noise {
		silent = silent && x == 0
		if x > 1<<40 || x < -1<<40 {
			o.violate("wrong sum", "node %d reveals in %s another sum than the set's", node, r.at)
			return
		}
	}
	if silent != (o.w.setup.Noise != protocol.NoiseCompute) {
		o.violate("wrong sum", "node %d in %s: silent is %t", node, r.at, silent)
	}
}

// resulted checks that the published aggregate is the sum of exactly the set's
// contributions, and that the model follows from it.
func (o *oracle) resulted(r *protocol.Result) {
	at := attempt{r.Round, r.Attempt}
	if r.Outcome == protocol.OutcomeVoid {
		o.voided[at] = true
		for n := range o.w.setup.Computes {
			if v := o.reveals[nodeRound{o.w.session.Plan.Compute(n), r.Round}]; v != nil && v.at == at {
				o.violate("void reveal", "%s is called void after node %d revealed", at, n)
			}
		}
		return
	}
	if !o.allHonest() {
		return
	}
	if int(r.Round) != len(o.rounds) {
		o.violate("wrong result", "round %d is settled after %d rounds", r.Round, len(o.rounds)-1)
		return
	}
	before, set := o.rounds[len(o.rounds)-1], o.common(at)
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
	same := protocol.SetDigest(o.w.session, r.Round, r.Attempt, r.Set) == protocol.SetDigest(o.w.session,
		r.Round, r.Attempt, set)
	if !same || r.Aggregate != o.digest(r.Round, total) ||
		r.Next != protocol.IntDigest(o.digests.Key(r.Round), now.model) ||
		now.accepted != (r.Outcome == protocol.OutcomeAccepted) {
		o.violate("wrong result", "%s: the result isn't the sum over the set, or the model not what it leads to",
			at)
	}
	o.rounds = append(o.rounds, now)
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
	if m.party == nil || !o.allHonest() {
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
func (o *oracle) allHonest() bool { return o.w.seams.honest == nil }

var _ party.Ledger = (*account)(nil)
