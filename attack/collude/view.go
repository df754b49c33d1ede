package collude

import (
	"bytes"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
	"choir/transport"
)

// View is what a coalition has together: its members' messages and stores, and what follows
// from them.
type View struct {
	Coalition Coalition
	session   protocol.BoundPlan
	in        map[uint32]bool
	messages  []message
	contents  []content // of the messages
	stored    map[uint32]map[string][]byte
	links     map[[2]uint32]secretOf // by party or node, and node or aggregator
	group     secretOf
	results   map[uint32]*protocol.Result            // of rounds that have a sum
	chunks    map[protocol.Context][]*protocol.Chunk // by context without salt
	salts     map[[3]uint32]protocol.Salt            // of contributions, by party, round and attempt
	pinned    uint32                                 // the attempt to look at; 0: the one that has a result
	records   func(run int) int                      // of how many records a coordinate's coin decides; nil: one
	counts    [][]int64                              // of reports, by repetition; nil in a session of noisy sums
	tallies   int                                    // of a repetition: columns by rounds
	honest    inputs                                 // of honest parties but the victim, before noise
}

// Rounds is how many rounds the session had.
func (v *View) Rounds() int { return int(v.session.Plan.Rounds) }

// Coordinates is the number of scores: the length of a sum, or of reports the number of repetitions.
func (v *View) Coordinates() int {
	if v.counts != nil {
		return len(v.counts)
	}
	return int(v.session.Plan.Dim)
}

// view is the coalition's part of a record: messages that its members sent, or that the bus
// delivers to them (all, to the broker), and their stores.
func (r *record) view(c Coalition, honest inputs) (*View, error) {
	v := &View{Coalition: c, session: r.session, honest: honest, in: c.members(r.session.Plan),
		stored: map[uint32]map[string][]byte{}, links: map[[2]uint32]secretOf{},
		results: map[uint32]*protocol.Result{}, chunks: map[protocol.Context][]*protocol.Chunk{},
		salts: map[[3]uint32]protocol.Salt{}}
	var filters []transport.Filters
	heard := r.session.Filters
	if r.session.Plan.Mixes() {
		heard = r.session.MixFilters
	}
	for i := range v.in {
		f, err := transport.NewFilters(heard(i))
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
		v.stored[i] = r.stored[i]
	}
	r.read()
	for i, m := range r.messages {
		if c.Broker || v.in[m.From] ||
			slices.ContainsFunc(filters, func(f transport.Filters) bool { return f.Match(m.Subject) }) {
			v.messages, v.contents = append(v.messages, m), append(v.contents, r.contents[i])
		}
	}
	if r.session.Plan.Mixes() {
		return v, nil // nothing follows from its layers without all nodes
	}
	return v, v.derive()
}

// content is what a message has, if it is valid: a chunk or a signed message.
type content struct {
	chunk *protocol.Chunk
	from  uint32
	said  protocol.Message
}

// read reads the messages of a session that has ended, once for all views.
func (r *record) read() {
	if len(r.contents) == len(r.messages) {
		return
	}
	r.contents = make([]content, len(r.messages))
	parallel.Do(len(r.messages), func(i int) {
		if c, err := protocol.ViewChunk(r.messages[i].Data); err == nil {
			r.contents[i].chunk = c
		} else if e, msg, err := r.session.Receive(r.messages[i].Data); err == nil {
			r.contents[i].from, r.contents[i].said = e.From, msg
		}
	})
}

// derive reads keys, results and chunks.
func (v *View) derive() error {
	for i, store := range v.stored {
		for key, value := range store {
			if err := v.secrets(i, key, value); err != nil {
				return fmt.Errorf("%s of %s: %w", key, v.session.Name(i), err)
			}
		}
	}
	for _, m := range v.contents {
		if m.chunk != nil {
			v.add(m.chunk)
		}
		switch msg := m.said.(type) {
		case *protocol.Contribution:
			v.salts[[3]uint32{m.from, msg.Round, msg.Attempt}] = msg.Salt
		case *protocol.Result:
			if msg.Outcome != protocol.OutcomeVoid {
				v.results[msg.Round] = msg
			}
		}
	}
	return nil
}

// add keeps a chunk, unless it was retransmitted.
func (v *View) add(c *protocol.Chunk) {
	slot := c.Context
	slot.Salt = protocol.Salt{}
	for _, known := range v.chunks[slot] {
		if known.Index == c.Index && bytes.Equal(known.Ciphertext, c.Ciphertext) {
			return
		}
	}
	v.chunks[slot] = append(v.chunks[slot], c)
}

// set is the parties of a round's sum, nil without one in the view.
func (v *View) set(round int) (parties []uint32) {
	if r := v.results[uint32(round)]; r != nil {
		for _, e := range r.Set {
			parties = append(parties, e.Party)
		}
	}
	return parties
}

func (v *View) attempt(round int) uint32 {
	if v.pinned > 0 {
		return v.pinned
	}
	if r := v.results[uint32(round)]; r != nil {
		return r.Attempt
	}
	return 1
}

// share is a party's share at a node, if one of both is in the coalition.
func (v *View) share(party, node uint32, round int) (field.Vector, bool) {
	secret := v.links[[2]uint32{party, node}].at(uint32(round))
	if secret == nil {
		return nil, false
	}
	c := protocol.Context{From: party, To: node, Round: uint32(round), Attempt: v.attempt(round),
		Purpose: protocol.PurposeShare}
	if len(v.chunks[c]) > 0 {
		return v.open(secret, c)
	}
	salt, ok := v.salts[[3]uint32{party, c.Round, c.Attempt}]
	if !ok {
		return nil, false
	}
	c.Salt = salt
	mask, err := v.session.Mask(secret, c)
	if err != nil {
		return nil, false
	}
	x := make(field.Vector, v.session.Plan.Elements())
	for i := range v.session.Chunks() {
		mask.Fill(xof.Chunk(x, uint64(i)), uint64(i))
	}
	return x, true
}

// open opens the chunks of a context.
func (v *View) open(secret *channel.Secret, c protocol.Context) (field.Vector, bool) {
	x := make(field.Vector, v.session.Plan.Elements())
	opened := 0
	for _, chunk := range v.chunks[c] {
		plain, err := v.session.OpenChunk(secret, chunk)
		if err != nil || field.DecodeVector(xof.Chunk(x, uint64(chunk.Index)), plain) != nil {
			continue
		}
		opened++
	}
	return x, opened == v.session.Chunks()
}

// contribution is a party's noised vector, if the coalition has all of its shares.
func (v *View) contribution(party uint32, round int) ([]int64, bool) {
	total := make(field.Vector, v.session.Plan.Elements())
	for k := range v.session.Plan.Computes() {
		s, ok := v.share(party, v.session.Plan.Compute(k), round)
		if !ok {
			return nil, false
		}
		total.Add(s)
	}
	return integers(total), true
}

func integers(v field.Vector) []int64 {
	x := make([]int64, len(v))
	fixedpoint.FromField(x, v)
	return x
}

// partial is a node's partial sum, if the node or the aggregator is in the coalition.
func (v *View) partial(node uint32, round int) (field.Vector, bool) {
	agg := v.session.Plan.Aggregator()
	secret := v.links[[2]uint32{node, agg}].at(uint32(round))
	if secret == nil {
		return nil, false
	}
	return v.open(secret, protocol.Context{From: node, To: agg, Round: uint32(round), Attempt: v.attempt(round),
		Purpose: protocol.PurposePartial})
}

// sum is the total of a round, from 1, in grid units: from the group key or from all partial
// sums. ok is false if the coalition has neither.
func (v *View) sum(round int) ([]int64, bool) {
	if group := v.group.at(uint32(round)); group != nil {
		c := protocol.Context{From: v.session.Plan.Aggregator(), To: protocol.Everyone, Round: uint32(round),
			Attempt: v.attempt(round), Purpose: protocol.PurposeResult}
		x, opened := make([]int64, v.session.Plan.Elements()), 0
		for _, chunk := range v.chunks[c] {
			if plain, err := v.session.OpenChunk(group, chunk); err == nil {
				lo := int(chunk.Index) * xof.ChunkElements
				protocol.DecodeInts(x[lo:lo+len(plain)/8], plain)
				opened++
			}
		}
		if opened == v.session.Chunks() {
			return x, true
		}
	}
	total := make(field.Vector, v.session.Plan.Elements())
	for k := range v.session.Plan.Computes() {
		p, ok := v.partial(v.session.Plan.Compute(k), round)
		if !ok {
			return nil, false
		}
		total.Add(p)
	}
	return integers(total), true
}

// nodeNoise is what a node of the coalition added to its partial sum.
func (v *View) nodeNoise(node uint32, round int) ([]int64, bool) {
	rest, ok := v.partial(node, round)
	for _, p := range v.set(round) {
		s, known := v.share(p, node, round)
		if !ok || !known {
			return nil, false
		}
		rest.Sub(s)
	}
	return integers(rest), ok
}

// Residual is the best the coalition has about the victim in a round, from 1, in grid units: its
// contribution, or the total less all that the coalition can subtract. What the other honest
// parties contributed before noise is given to it, as in the definition of differential privacy.
// ok is false if it learns neither.
func (v *View) Residual(round int) (x []int64, ok bool) {
	if x, ok := v.contribution(0, round); ok {
		return x, true
	}
	rest, ok := v.less(round)
	for _, p := range v.set(round) {
		if _, known := v.contribution(p, round); ok && !known && p != 0 {
			subtract(rest, v.honest(int(p), round))
		}
	}
	return rest, ok
}

// less is the total of a round less all that the coalition knows of it.
func (v *View) less(round int) ([]int64, bool) {
	rest, ok := v.sum(round)
	if !ok {
		return nil, false
	}
	for _, p := range v.set(round) {
		if x, known := v.contribution(p, round); known && p != 0 {
			subtract(rest, x)
		}
	}
	if v.session.Plan.Noise == protocol.NoiseCompute {
		for k := range v.session.Plan.Computes() {
			if z, known := v.nodeNoise(v.session.Plan.Compute(k), round); known {
				subtract(rest, z)
			}
		}
	}
	return rest, true
}

func subtract(from, x []int64) {
	for i := range from {
		from[i] -= x[i]
	}
}
