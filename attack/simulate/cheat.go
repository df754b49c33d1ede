package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/protocol"
)

// cheat is a member that runs the honest machine and changes its messages. It has
// the member's key, its store and all messages that the member received.
type cheat struct {
	protocol.Machine
	s      protocol.BoundPlan
	key    protocol.Signer
	self   uint32
	view   protocol.View
	eff    *protocol.Effects
	heard  [][]byte
	stored map[string][]byte // what a cheat wants to remember
	sides  *sides            // of a session with the broker's help
	change func(c *cheat)
	deaf   func(data []byte) bool // what it pretends not to have received
}

func (c *cheat) Step(now int64, ev protocol.Event) protocol.Effects {
	if d, ok := ev.(protocol.Delivery); ok {
		if deafTo(c.self)(d.Data) || c.deaf != nil && c.deaf(d.Data) { // its own lies least of all
			ev = protocol.Tick{}
		}
		c.heard = append(c.heard, d.Data)
	}
	eff := c.Machine.Step(now, ev)
	c.eff = &eff
	c.change(c)
	return eff
}

// sign signs a message with a key, in the name of a member.
func (c *cheat) sign(key protocol.Signer, as uint32, m protocol.Message) []byte {
	return must(c.s.Sign(key, as, m))
}

// link is the secret of this member's channel to another in a round.
func (c *cheat) link(to, round uint32) *channel.Secret {
	if c.self == c.s.Plan.Aggregator() { // it keeps those of round 1
		if to == protocol.Everyone {
			return protocol.Later(must(channel.NewSecret(c.store("group"))), round-1)
		}
		if b := c.store(fmt.Sprintf("channel/%d", to)); b != nil {
			return protocol.Later(must(protocol.UnmarshalLink(b)).Secret, round-1)
		}
	}
	for _, view := range []protocol.View{protocol.StepView{View: c.view, Step: c.eff}, c.view} {
		if s := must(protocol.RestoreKeyring(view)).Secret(to, round); s != nil {
			return s
		}
	}
	panic(impossible{errors.New("no channel")})
}

// store reads the member's store, even what this step deletes.
func (c *cheat) store(key string) []byte {
	if b := (protocol.StepView{View: c.view, Step: c.eff}).Get(key); b != nil {
		return b
	}
	return c.view.Get(key)
}

// partialSum is this node's right sum over the set that it agrees to, with its opening.
func (c *cheat) partialSum(m *agreement) (field.Vector, protocol.Opening) {
	set, plan := c.intersection(m.Round, m.Attempt), c.s.Plan
	sum, blind := make(field.Vector, plan.Elements()), []*commit.Scalar{}
	for _, e := range set {
		_, head, err := c.s.Receive(c.store(protocol.RecordKey("commit", m.Round, m.Attempt, e.Party)))
		given := must(head, err).(*contribution)
		ctx := given.Context(e.Party, c.self)
		k, v := int(c.self)-plan.Parties(), make(field.Vector, plan.Elements())
		if share.ExplicitIndex(int(e.Party), int(m.Round), plan.Computes()) == k {
			ch := must(protocol.ViewChunk(c.store(protocol.RecordKey("share", m.Round, m.Attempt, e.Party, 0))))
			if err := field.DecodeVector(v, must(c.s.OpenChunk(c.link(e.Party, m.Round), ch))); err != nil {
				panic(err)
			}
		} else {
			must(c.s.Mask(c.link(e.Party, m.Round), ctx)).Fill(v, 0)
		}
		sum.Add(v)
		if plan.Audit {
			blind = append(blind, must(c.s.OpenBlinding(c.link(e.Party, m.Round), ctx, given.Blinding[k])))
		}
	}
	o := protocol.Opening{Salt: c.s.Salt(c.link(protocol.Own, m.Round), m.Round, m.Attempt, m.Set)}
	if plan.Audit {
		o.Blinding = [32]byte(commit.SumScalars(blind).Bytes())
	}
	return sum, o
}

// opening is what one of this node's partial sums binds besides the vector.
func (c *cheat) opening(m *partialSum) protocol.Opening {
	return must(c.s.OpenOpening(c.link(c.s.Plan.Aggregator(), m.Round), c.self, m))
}

// reopen changes the opening of a partial sum; the digest stays.
func (c *cheat) reopen(m *partialSum, o protocol.Opening) {
	if err := c.s.SealOpening(c.link(c.s.Plan.Aggregator(), m.Round), c.self, m, o); err != nil {
		panic(err)
	}
}

// digest is that of a round's aggregate or next model.
func (c *cheat) digest(round uint32, v []int64) protocol.Digest {
	return protocol.IntDigest(c.s.DigestSecret(c.link(protocol.Everyone, 1)).Key(round), v)
}

// each replaces every signed message of one kind by the messages that change
// returns.
func each[M protocol.Message](c *cheat, change func(m M, o protocol.Outgoing) []protocol.Outgoing) {
	var out []protocol.Outgoing
	for _, o := range c.eff.Send {
		e, err := protocol.UnmarshalEnvelope(o.Data)
		if err != nil || e.From != c.self {
			out = append(out, o)
			continue
		}
		m, err := protocol.Decode(e)
		if signed, ok := m.(M); err == nil && ok {
			out = append(out, change(signed, o)...)
		} else {
			out = append(out, o)
		}
	}
	c.eff.Send = out
}

// lie changes the content of every message of one kind.
func lie[M protocol.Message](change func(c *cheat, m M)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			change(c, m)
			o.Data = c.sign(c.key, c.self, m)
			return []protocol.Outgoing{o}
		})
	}
}

// twoFaced sends every message of one kind, and then another one for its purpose.
func twoFaced[M protocol.Message](change func(c *cheat, m M)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			change(c, m)
			return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(c.key, c.self, m)}}
		})
	}
}

// silent drops the messages of one kind.
func silent[M protocol.Message]() func(*cheat) {
	return func(c *cheat) {
		each(c, func(M, protocol.Outgoing) []protocol.Outgoing { return nil })
	}
}

// eachChunk changes every sealed chunk before it is sent.
func eachChunk(change func(c *cheat, ch *protocol.Chunk)) func(*cheat) {
	return func(c *cheat) {
		for i, o := range c.eff.Send {
			if ch, err := protocol.UnmarshalChunk(o.Data); err == nil {
				change(c, ch)
				c.eff.Send[i].Data = must(ch.Marshal())
			}
		}
	}
}

// impossible is the panic of a cheat that can't be done where it is tried: two cheats at the same
// time may leave one of them nothing to change.
type impossible struct{ error }

func must[T any](v T, err error) T {
	if err != nil {
		panic(impossible{err})
	}
	return v
}

// box is the sealing key of a context, derived from the channel's secret: package
// protocol only seals well-formed chunks.
func (c *cheat) box(ctx protocol.Context) *channel.Box {
	b := append([]byte(nil), c.s.ID[:]...)
	for _, v := range []uint32{ctx.From, ctx.To, ctx.Round, ctx.Attempt} {
		b = append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	b = append(append(b, byte(ctx.Purpose)), ctx.Salt[:]...)
	dim := c.s.Plan.Dim
	ad := append(append([]byte("choir v1 chunk\x00"), b...), byte(dim>>24), byte(dim>>16), byte(dim>>8),
		byte(dim))
	return must(channel.NewBox(c.link(ctx.To, ctx.Round).Derive("choir v1 key seal", b), ad))
}

// open opens one of the cheat's own chunks.
func (c *cheat) open(ch *protocol.Chunk) field.Vector {
	plain := must(c.box(ch.Context).Open(nil, ch.Index, ch.Last, ch.Ciphertext))
	v := make(field.Vector, len(plain)/field.ElementSize)
	if err := field.DecodeVector(v, plain); err != nil {
		panic(err)
	}
	return v
}

// vector replaces the vector in a chunk and in the message that accounts for it.
func (c *cheat) vector(change func(v field.Vector) []byte) {
	sealed := map[protocol.Context]protocol.Digest{}
	eachChunk(func(c *cheat, ch *protocol.Chunk) {
		plain := change(c.open(ch))
		ch.Ciphertext = c.box(ch.Context).Seal(nil, ch.Index, ch.Last, plain)
		sealed[ch.Context] = protocol.ChunkList([]protocol.Digest{protocol.NewChunkHash().Digest(ch.Ciphertext)})
	})(c)
	lie(func(c *cheat, m *protocol.Contribution) {
		ctx := m.Context(c.self, c.s.Plan.Compute(int(m.Explicit)))
		if d, ok := sealed[ctx]; ok {
			m.Vector = d
			c.confirm(m)
		}
	})(c)
}

// confirm makes the tags that go with a changed contribution.
func (c *cheat) confirm(m *protocol.Contribution) {
	tags := make([][16]byte, len(m.Confirm))
	for k := range tags {
		ctx := m.Context(c.self, c.s.Plan.Compute(k))
		tags[k] = c.s.Confirm(c.link(ctx.To, ctx.Round), ctx, must(m.ManifestDigest(c.s, c.self)))
	}
	m.Confirm = tags
}

// intersection is what the lists that this node heard have in common.
func (c *cheat) intersection(round, attempt uint32) []protocol.Entry {
	lists := map[uint32]*protocol.Hold{}
	for _, data := range c.heard {
		if _, m, err := c.s.Receive(data); err == nil {
			if h, ok := m.(*protocol.Hold); ok && h.Round == round && h.Attempt == attempt {
				e := must(protocol.UnmarshalEnvelope(data))
				lists[e.From] = h
			}
		}
	}
	var all []*protocol.Hold
	for k := range c.s.Plan.Computes() {
		if h := lists[c.s.Plan.Compute(k)]; h != nil {
			all = append(all, h)
		}
	}
	return protocol.Intersect(all)
}

// say sends a message of the cheat.
func (c *cheat) say(subject string, m protocol.Message) {
	c.eff.Emit(subject, c.sign(c.key, c.self, m))
}

// once reports true the first time for a name.
func (c *cheat) once(name string) bool {
	if c.stored[name] != nil {
		return false
	}
	c.stored[name] = []byte{1}
	return true
}

// noticed reports whether the machine noticed something in this step.
func (c *cheat) noticed(code protocol.Code) (protocol.Notice, bool) {
	for _, n := range c.eff.Notices {
		if n.Code == code {
			return n, true
		}
	}
	return protocol.Notice{}, false
}

// outcome is a session with a cheat as the honest members saw it.
type outcome struct {
	mu      sync.Mutex
	notices map[string][]protocol.Notice
	ends    map[string]error
	models  map[string][]int64
}

func newOutcome() *outcome {
	return &outcome{notices: map[string][]protocol.Notice{}, ends: map[string]error{},
		models: map[string][]int64{}}
}

func (o *outcome) notice(name string, n protocol.Notice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notices[name] = append(o.notices[name], n)
}

// refused reports whether a member of the role refused something for the
// reason, under the culprit's name if one is given.
func (o *outcome) refused(by, culprit string, why error) bool {
	for name, list := range o.notices {
		if !strings.HasPrefix(name, by) || name == culprit {
			continue
		}
		if slices.ContainsFunc(list, func(n protocol.Notice) bool {
			return n.Code == protocol.NoteRefused && errors.Is(n.Err, why) &&
				(culprit == "" || n.Peer == culprit || strings.Contains(n.Err.Error(), culprit))
		}) {
			return true
		}
	}
	return false
}

// String is everything that was refused and how members ended, for a failing
// test's message.
func (o *outcome) String() string {
	var lines []string
	for name, list := range o.notices {
		for _, n := range list {
			if n.Code == protocol.NoteRefused || n.Code == protocol.NoteDisagree {
				lines = append(lines, fmt.Sprintf("%s: %s %s %s: %v", name, n.Code, n.Peer, n.Detail, n.Err))
			}
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("ends: %v\n%s", o.ends, strings.Join(slices.Compact(lines), "\n"))
}

// results are the settled rounds as a member saw them.
func (o *outcome) results(name string) (list []protocol.Notice) {
	for _, n := range o.notices[name] {
		if n.Code == protocol.NoteResult && n.Detail != protocol.OutcomeVoid.String() {
			list = append(list, n)
		}
	}
	return list
}

func (o *outcome) counted(name string, round uint32) bool {
	in := false
	for _, n := range o.notices[name] {
		in = in || (n.Code == protocol.NoteResult && n.Round == round)
		if n.Code == protocol.NoteUncounted && n.Round == round {
			return false
		}
	}
	return in
}
