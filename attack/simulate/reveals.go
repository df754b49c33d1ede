package simulate

import (
	"errors"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/protocol"
)

// reveal is what a node revealed in a round.
type reveal struct {
	at    attempt
	head  *protocol.Partial
	set   []protocol.Entry
	sum   field.Vector // nil until its vector was sent
	noise []int64      // of the node, nil until its vector was sent
}

func (o *oracle) held(m *member, h *protocol.Hold) {
	at := nodeAt{uint32(m.i), attempt{h.Round, h.Attempt}}
	o.holds[at] = append(o.holds[at], h)
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

// sets are the intersections of all nodes' lists: one, unless a node that lies or was rolled back has signed
// several lists for the attempt; none before all nodes have signed one.
func (o *oracle) sets(at attempt) (sets [][]protocol.Entry) {
	choices := [][]*protocol.Hold{nil}
	for n := range o.w.setup.Computes {
		var longer [][]*protocol.Hold
		for _, h := range o.holds[nodeAt{o.w.session.Plan.Compute(n), at}] {
			for _, c := range choices {
				longer = append(longer, append(slices.Clip(c), h))
			}
		}
		choices = longer
	}
	for _, c := range choices {
		sets = append(sets, protocol.Intersect(c))
	}
	return sets
}

// common is the set with a digest, nil if the lists don't give it.
func (o *oracle) common(at attempt, digest protocol.Digest) []protocol.Entry {
	for _, set := range o.sets(at) {
		if protocol.SetDigest(o.w.session, at.round, at.attempt, set) == digest {
			return set
		}
	}
	return nil
}

// agreed checks that a node signs an intersection of all lists.
func (o *oracle) agreed(m *member, a *protocol.Agree) {
	at := attempt{a.Round, a.Attempt}
	o.agrees[nodeAt{uint32(m.i), at}] = append(o.agrees[nodeAt{uint32(m.i), at}], a)
	for _, set := range o.sets(at) {
		if int(a.Count) == len(set) && a.Set == protocol.SetDigest(o.w.session, a.Round, a.Attempt, set) {
			return
		}
	}
	o.violate("wrong set", "%s agrees in %s to a set of %d that the lists of all nodes don't give", m.name, at,
		a.Count)
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

// agreedTo reports whether a node has signed a set.
func (o *oracle) agreedTo(node uint32, at attempt, set protocol.Digest) bool {
	return slices.ContainsFunc(o.agrees[nodeAt{node, at}], func(a *protocol.Agree) bool {
		return a.Set == set && int(a.Count) >= o.w.setup.MinParties
	})
}

// revealed checks the main rule: one reveal a round, over the agreed set.
func (o *oracle) revealed(m *member, p *protocol.Partial) {
	at := attempt{p.Round, p.Attempt}
	r := &reveal{at: at, head: p, set: o.common(at, p.Set)}
	o.reveals[nodeRound{uint32(m.i), p.Round}] = r
	if m.disk.durable[fmt.Sprintf("reveal/%d", p.Round)] == nil {
		o.violate("unrecorded reveal", "%s reveals in %s before the reveal is durable", m.name, at)
	}
	if !o.agreedTo(uint32(m.i), at, p.Set) {
		o.violate("small set", "%s reveals in %s without having agreed to a set of %d", m.name, at,
			o.w.setup.MinParties)
	}
	if o.voided[at] && o.allNodes() || o.leftVoid[nodeAt{uint32(m.i), at}] {
		o.violate("void reveal", "%s reveals in %s, which is void", m.name, at)
	}
	for n := range o.w.setup.Computes {
		node := o.w.session.Plan.Compute(n)
		if !o.agreedTo(node, at, p.Set) {
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

// confirmed checks that a node confirms one result a round, and no void where it has revealed.
func (o *oracle) confirmed(m *member, c *protocol.Confirm) {
	at := attempt{c.Round, c.Attempt}
	r := o.reveals[nodeRound{uint32(m.i), c.Round}]
	revealed := r != nil && r.at == at
	void := c.Value == (protocol.Value{})
	if void {
		o.leftVoid[nodeAt{uint32(m.i), at}] = true
	}
	if void && revealed {
		o.violate("void reveal", "%s confirms that %s is void, and has revealed in it", m.name, at)
	} else if !void && !revealed {
		o.violate("wrong result", "%s confirms a result of %s, and has not revealed in it", m.name, at)
	}
}

// shared records a share that a party sealed, once all of it was sent, and those that go with it.
func (o *oracle) shared(ctx protocol.Context) {
	link := o.link(ctx.From, ctx.To, ctx.Round)
	if link == nil || len(o.chunks[ctx]) < o.w.session.Chunks() {
		return
	}
	v, err := o.openVector(link, ctx)
	if err != nil {
		return // its contribution is unsound
	}
	l := leak{ctx: ctx, v: v, input: slices.Clone(v)}
	if o.explicit(ctx.From, ctx.Round) != ctx.To {
		o.leaked = append(o.leaked, leak{ctx: ctx, v: v})
		return
	}
	for n := range o.w.setup.Computes {
		to := ctx
		to.To = o.w.session.Plan.Compute(n)
		mask, err := v, error(nil)
		if to != ctx {
			if link = o.link(to.From, to.To, to.Round); link == nil {
				return
			}
			if mask, err = o.expand(link, to); err != nil {
				return
			}
			l.input.Add(mask)
		}
		l.shares = append(l.shares, mask)
	}
	o.leaked = append(o.leaked, l)
}

// opened checks a node's revealed vector, once all of it was sent: the shares of
// the set, and the node's noise if the plan places it there.
func (o *oracle) opened(ctx protocol.Context) {
	s := o.w.session
	if len(o.chunks[ctx]) < s.Chunks() {
		return
	}
	link := o.link(ctx.From, ctx.To, ctx.Round)
	v, err := o.openVector(link, ctx)
	r, at := o.reveals[nodeRound{ctx.From, ctx.Round}], attempt{ctx.Round, ctx.Attempt}
	if err != nil {
		o.violate("wrong sum", "node %d sends in %s what doesn't open: %v", ctx.From, at, err)
		return
	}
	o.leaked = append(o.leaked, leak{ctx: ctx, v: v})
	if r == nil || r.at != at {
		return
	}
	opening, err := s.OpenOpening(link, ctx.From, r.head)
	if err != nil || protocol.VectorDigest(v, opening) != r.head.Vector {
		o.violate("wrong sum", "node %d reveals in %s another vector than it signed: %v", ctx.From, at, err)
		return
	}
	noise, err := o.rest(ctx.From, at, v, r.set)
	if err != nil {
		o.violate("wrong sum", "node %d in %s: %v", ctx.From, at, err)
		return
	}
	r.sum, r.noise = v, noise
}

var (
	errOther  = errors.New("reveals another sum than the set's")
	errSilent = errors.New("adds noise where the plan has none, or none where the plan has some")
)

// rest is what a vector has besides a node's shares of a set: the node's noise. Dishonest parties may have
// sent several shares; one choice of them must fit.
func (o *oracle) rest(node uint32, at attempt, v field.Vector, set []protocol.Entry) ([]int64, error) {
	if len(set) == 0 {
		noise, err := o.coordinates(v)
		if err != nil || slices.ContainsFunc(noise, func(x int64) bool { return x > 1<<40 || x < -1<<40 }) {
			return nil, errOther
		}
		silent := !slices.ContainsFunc(noise, func(x int64) bool { return x != 0 })
		if silent != (o.w.setup.Noise != protocol.NoiseCompute) {
			return nil, errSilent
		}
		return noise, nil
	}
	err := errOther
	for _, s := range o.shares(set[0].Party, node, at) {
		left := slices.Clone(v)
		left.Sub(s)
		noise, e := o.rest(node, at, left, set[1:])
		if e == nil {
			return noise, nil
		}
		err = e
	}
	return nil, err
}

// shares are the vectors that a node may have taken for a party's share: one of an honest party, several
// of one that lies.
func (o *oracle) shares(party, node uint32, at attempt) (all []field.Vector) {
	if g := o.given[key{party, at}]; g != nil {
		return []field.Vector{g.shares[int(node)-o.w.setup.Parties]}
	}
	ctx := protocol.Context{From: party, To: node, Round: at.round, Attempt: at.attempt,
		Purpose: protocol.PurposeShare}
	for _, enc := range o.opens[[2]uint32{party, node}] {
		secret := o.w.exchange.secrets[enc]
		if secret == nil {
			continue // the node didn't accept it
		}
		link := protocol.Later(secret, at.round-1)
		if o.explicit(party, at.round) == node {
			all = append(all, o.openEach(link, o.lies[ctx])...)
			continue
		}
		for _, ctx.Salt = range o.salts[key{party, at}] {
			if v, err := o.expand(link, ctx); err == nil {
				all = append(all, v)
			}
		}
	}
	return all
}

// explicit is the node that gets a party's explicit share.
func (o *oracle) explicit(party, round uint32) uint32 {
	return o.w.session.Plan.Compute(share.ExplicitIndex(int(party), int(round), o.w.setup.Computes))
}

// openEach opens those of some vectors of one chunk that open.
func (o *oracle) openEach(link *channel.Secret, chunks []*protocol.Chunk) (all []field.Vector) {
	for _, c := range chunks {
		plain, err := o.w.session.OpenChunk(link, c)
		v := make(field.Vector, o.w.session.Plan.Elements())
		if err == nil && field.DecodeVector(v, plain) == nil {
			all = append(all, v)
		}
	}
	return all
}

// overheard records what a member sends that the oracle doesn't check: in all versions.
func (o *oracle) overheard(data []byte) {
	h := mixIn(1<<32, data)
	if o.seen[h] {
		return
	}
	o.seen[h] = true
	if c, err := protocol.UnmarshalChunk(data); err == nil {
		if !o.answers(int(c.From)) {
			o.lies[unsalted(c.Context)] = append(o.lies[unsalted(c.Context)], c)
		}
		return
	}
	e, body, err := o.w.session.Receive(data)
	if err != nil || o.answers(int(e.From)) {
		return
	}
	switch b := body.(type) {
	case *protocol.Open:
		o.opens[[2]uint32{e.From, b.To}] = append(o.opens[[2]uint32{e.From, b.To}], string(b.Enc))
	case *protocol.Contribution:
		k := key{e.From, attempt{b.Round, b.Attempt}}
		o.salts[k] = append(o.salts[k], b.Salt)
	case *protocol.Hold:
		at := nodeAt{e.From, attempt{b.Round, b.Attempt}}
		o.holds[at] = append(o.holds[at], b)
	case *protocol.Agree:
		at := nodeAt{e.From, attempt{b.Round, b.Attempt}}
		o.agrees[at] = append(o.agrees[at], b)
	}
}
