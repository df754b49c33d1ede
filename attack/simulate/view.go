package simulate

import (
	"slices"

	"choir/crypto/field"
	"choir/protocol"
)

// leak is a vector that an honest member sealed: a party for a node, or a node for the aggregator.
type leak struct {
	ctx protocol.Context
	v   field.Vector

	shares []field.Vector // of a contribution, by node: v is one of them
	input  field.Vector   // their sum
}

func (l leak) at() attempt { return attempt{l.ctx.Round, l.ctx.Attempt} }

// combination is a linear combination of vectors that honest members know: the coefficients of those that
// aren't zero.
type combination map[symbol]field.Element

// symbol is such a vector: equal vectors are one symbol.
type symbol struct {
	kind symbolKind
	id   uint64
}

type symbolKind uint8

const (
	shareOf symbolKind = iota // a share of a contribution
	input                     // an honest party's update and noise
	nodeNoise
)

// content is the symbol of a vector.
func content(kind symbolKind, v field.Vector) symbol {
	return symbol{kind, mixIn(uint64(kind), field.AppendVector(nil, v))}
}

// views computes, for each honest node, what all others may learn together: every other node, the aggregator,
// the broker, and the parties that lie. They see all shares at corrupt nodes and every vector that the honest
// node seals for the aggregator. Of the honest parties' vectors, what follows from that must be the promised
// sums: one a round, over the set that the node has revealed.
func (o *oracle) views() {
	for n := range o.w.setup.Computes {
		if node := o.w.session.Plan.Compute(n); o.answers(int(node)) {
			o.view(node)
		}
	}
}

// view checks the view of all but a node.
func (o *oracle) view(honest uint32) {
	known := basis{}
	for _, l := range o.leaked {
		if l.ctx.From == honest {
			known.add(o.explain(l))
		}
		if l.ctx.Purpose == protocol.PurposeShare && l.ctx.To != honest {
			known.add(combination{content(shareOf, l.v): 1})
		}
		if l.shares != nil {
			known.add(l.contribution())
		}
		for n, s := range l.shares {
			if o.w.session.Plan.Compute(n) != honest { // a mask, or the explicit share again
				known.add(combination{content(shareOf, s): 1})
			}
		}
	}
	promised := basis{}
	for at, r := range o.reveals {
		if at.node == honest && r.sum != nil {
			promised.add(o.promise(r))
		}
	}
	for _, c := range known {
		if c.derivable() && len(promised.reduce(c.terms)) > 0 {
			o.violate("adversary's view", "all members but node %d and the honest parties can compute a sum of "+
				"updates that isn't a round's: %d terms, in %d rounds", honest, len(c.terms), len(promised))
			return
		}
	}
}

// contribution requires that the shares of a contribution add up to it.
func (l leak) contribution() combination {
	c := combination{content(input, l.input): 1}
	for _, s := range l.shares {
		c.plus(content(shareOf, s), field.Neg(1))
	}
	return c
}

// promise is what a reveal may tell: the honest parties' contributions and the node's noise.
func (o *oracle) promise(r *reveal) combination {
	c, honest, lying := combination{}, 0, 0
	for i := range o.w.setup.Parties {
		lying += bit(!o.answers(i))
	}
	for _, e := range r.set {
		if g := o.given[key{e.Party, r.at}]; g != nil {
			c.plus(content(input, g.x), 1)
			honest++
		}
	}
	if honest < o.w.setup.MinParties-lying {
		o.violate("small set", "a reveal in %s is over %d honest parties, %d lie", r.at, honest, lying)
	}
	o.plusNoise(c, r.noise)
	return c
}

func (o *oracle) plusNoise(c combination, noise []int64) {
	if slices.ContainsFunc(noise, func(x int64) bool { return x != 0 }) {
		c.plus(symbol{nodeNoise, mixIn(uint64(nodeNoise), protocol.AppendInts(nil, noise))}, 1)
	}
}

// explain is a vector that a node sealed as a combination of the honest parties' shares. It is found by its
// value: the parties that it covers are those of the revealed set, or any others that contributed to an
// attempt of the round.
func (o *oracle) explain(l leak) combination {
	if r := o.reveals[nodeRound{l.ctx.From, l.ctx.Round}]; r != nil && r.at == l.at() {
		if c := o.covers(l, r.at, r.set); c != nil {
			return c
		}
	}
	for number := range uint32(o.w.setup.Spares) + 1 {
		for subset := range uint64(1) << o.w.setup.Parties {
			var set []protocol.Entry
			for i := range uint32(o.w.setup.Parties) {
				if subset>>i&1 == 1 {
					set = append(set, protocol.Entry{Party: i})
				}
			}
			if c := o.covers(l, attempt{l.ctx.Round, number + 1}, set); c != nil {
				return c
			}
		}
	}
	o.violate("adversary's view", "node %d seals in %s a vector that no set of contributions explains",
		l.ctx.From, l.at())
	return nil
}

// covers is the combination of a vector over a set, nil if it is another vector.
func (o *oracle) covers(l leak, at attempt, set []protocol.Entry) combination {
	noise, err := o.rest(l.ctx.From, at, l.v, set)
	if err != nil {
		return nil
	}
	c := combination{}
	for _, e := range set {
		if g := o.given[key{e.Party, at}]; g != nil {
			c.plus(content(shareOf, g.shares[int(l.ctx.From)-o.w.setup.Parties]), 1)
		}
	}
	o.plusNoise(c, noise)
	return c
}

func (c combination) plus(s symbol, x field.Element) {
	if sum := field.Add(c[s], x); sum != 0 {
		c[s] = sum
	} else {
		delete(c, s)
	}
}

// basis is what is known, each combination with a symbol that no later one has: a share if it has any, so
// that those without shares are a basis of what is known of inputs alone.
type basis []pivoted

type pivoted struct {
	pivot symbol
	terms combination // the pivot's coefficient is 1
}

// derivable reports whether a known combination is one of inputs and noise only.
func (p pivoted) derivable() bool { return p.pivot.kind != shareOf }

// reduce takes from a combination what is known of it.
func (b basis) reduce(c combination) combination {
	left := combination{}
	for s, x := range c {
		left[s] = x
	}
	for _, p := range b {
		if x := left[p.pivot]; x != 0 {
			for s, y := range p.terms {
				left.plus(s, field.Neg(field.Mul(x, y)))
			}
		}
	}
	return left
}

// add makes a combination known.
func (b *basis) add(c combination) {
	left := b.reduce(c)
	if len(left) == 0 {
		return
	}
	var pivot symbol
	first := true
	for s := range left {
		if first || s.kind < pivot.kind || s.kind == pivot.kind && s.id < pivot.id {
			pivot, first = s, false
		}
	}
	scale := inverse(left[pivot])
	for s, x := range left {
		left[s] = field.Mul(x, scale)
	}
	*b = append(*b, pivoted{pivot, left})
}

// inverse is x^(p-2).
func inverse(x field.Element) field.Element {
	y := field.Element(1)
	for e := field.Modulus - 2; e > 0; e >>= 1 {
		if e&1 == 1 {
			y = field.Mul(y, x)
		}
		x = field.Mul(x, x)
	}
	return y
}
