package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"choir/crypto/channel"
	"choir/protocol"
)

// Violation is an invariant that was violated.
type Violation struct {
	Rule string // which one, in two or three words
	At   int64  // virtual ms
	What string
}

// String is the violation as reports show it.
func (v Violation) String() string { return fmt.Sprintf("%s at %d ms: %s", v.Rule, v.At, v.What) }

// oracle checks the invariants. It sees every message that a member sends, every
// disk and every channel secret, and derives the state of the session from the
// messages alone.
type oracle struct {
	w          *world
	violations []Violation
	leaver     map[int]bool

	seen    map[uint64]bool   // hashes of the messages sent so far
	signed  map[string]uint64 // hashes of the signed contents, by purpose
	links   map[[2]uint32]*channel.Secret
	digests protocol.DigestSecret
	chunks  map[protocol.Context][][]byte // ciphertexts, by index
	charged map[int]map[attempt]bool      // durable charges, by party

	updates  map[key]protocol.Proposal
	given    map[key]*given
	noises   map[protocol.Digest]key
	receipts map[nodeAt][]protocol.Entry
	holds    map[nodeAt][]*protocol.Hold            // several of a member that lies or was rolled back
	agrees   map[nodeAt][]*protocol.Agree           // the same
	opens    map[[2]uint32][]string                 // encapsulations that members that lie sent
	lies     map[protocol.Context][]*protocol.Chunk // chunks that members that lie sent, by context without salt
	salts    map[key][]protocol.Salt                // of their contributions
	leaked   []leak
	reveals  map[nodeRound]*reveal
	voided   map[attempt]bool // as an honest aggregator has signed
	leftVoid map[nodeAt]bool  // an honest node has confirmed it
	rounds   []*settledRound  // by round, from 1; index 0 is the prior
	models   map[int][]int64  // by round, as the first party settled them
	checked  map[int][2]int   // by party: incarnation and settled rounds last checked
	kept     int              // announced values that were persisted unchanged
}

type key struct {
	party uint32
	at    attempt
}

type nodeAt struct {
	node uint32
	at   attempt
}

type nodeRound struct {
	node  uint32
	round uint32
}

func newOracle(w *world) *oracle {
	return &oracle{
		w:        w,
		leaver:   map[int]bool{},
		seen:     map[uint64]bool{},
		signed:   map[string]uint64{},
		links:    map[[2]uint32]*channel.Secret{},
		chunks:   map[protocol.Context][][]byte{},
		charged:  map[int]map[attempt]bool{},
		updates:  map[key]protocol.Proposal{},
		given:    map[key]*given{},
		noises:   map[protocol.Digest]key{},
		receipts: map[nodeAt][]protocol.Entry{},
		holds:    map[nodeAt][]*protocol.Hold{},
		agrees:   map[nodeAt][]*protocol.Agree{},
		opens:    map[[2]uint32][]string{},
		lies:     map[protocol.Context][]*protocol.Chunk{},
		salts:    map[key][]protocol.Salt{},
		reveals:  map[nodeRound]*reveal{},
		voided:   map[attempt]bool{},
		leftVoid: map[nodeAt]bool{},
		models:   map[int][]int64{0: w.app.Initial()},
		checked:  map[int][2]int{},
		rounds:   []*settledRound{{model: w.app.Initial()}},
	}
}

func (o *oracle) violate(rule, format string, args ...any) {
	if only := o.w.seams.only; only != "" && only != rule {
		return
	}
	o.violations = append(o.violations, Violation{rule, o.w.now, fmt.Sprintf(format, args...)})
}

// answers reports whether the oracle checks a member.
func (o *oracle) answers(i int) bool {
	return i < len(o.w.members) && len(o.w.members[i].lies) == 0 &&
		(o.w.seams.honest == nil || o.w.seams.honest(i))
}

// rewound reports whether a member has started from an older store. Until it notices, it may contradict what
// it signed, as a dishonest member may. It must not noise, charge or reveal anything twice.
func (o *oracle) rewound(i int) bool { return o.w.members[i].rewound }

// anyRewound reports whether a store went back: then the session need not end.
func (o *oracle) anyRewound() bool { return o.w.chaos.counts["rewind"] > 0 }

// once checks that a member signs one content for a purpose; it may sign that
// again. It reports whether this is the first time.
func (o *oracle) once(m *member, rule, purpose string, content []byte) bool {
	h := mixIn(0, content)
	before, again := o.signed[purpose]
	o.signed[purpose] = h
	if again && before != h {
		if m.rewound && rule == "contradiction" {
			return true
		}
		o.violate(rule, "%s left with two contents", purpose)
	}
	return !again
}

// left checks a message that a member sends, whether the bus loses it or not.
func (o *oracle) left(m *member, out protocol.Outgoing) {
	if !o.answers(m.i) {
		o.overheard(out.Data)
		return
	}
	h := mixIn(uint64(m.i), out.Data)
	if o.seen[h] {
		return
	}
	o.seen[h] = true
	if protocol.IsChunk(out.Data) {
		o.chunkLeft(m, out.Data)
		return
	}
	e, body, err := o.w.session.Receive(out.Data)
	if err != nil {
		o.violate("malformed", "%s sent what nobody accepts: %v", m.name, err)
		return
	}
	if int(e.From) != m.i { // passed on: its sender must have sent it
		if o.answers(int(e.From)) && !o.seen[mixIn(uint64(e.From), out.Data)] {
			o.violate("invented", "%s hands on a %s that %s never sent", m.name, e.Kind, o.w.session.Name(e.From))
		}
		return
	}
	o.messageLeft(m, e, body)
}

// link is the secret between two members in a round, nil if there is none.
func (o *oracle) link(from, to, round uint32) *channel.Secret {
	secret := o.links[[2]uint32{from, to}]
	if secret == nil {
		return nil
	}
	return protocol.Later(secret, round-1)
}

func (o *oracle) messageLeft(m *member, e *protocol.Envelope, body protocol.Message) {
	purpose := func(format string, args ...any) string { return m.name + " " + fmt.Sprintf(format, args...) }
	switch b := body.(type) {
	case *protocol.Key:
		o.once(m, "contradiction", purpose("key %d", b.Number), e.Body)
	case *protocol.Open:
		if o.once(m, "contradiction", purpose("open %d to %x", b.To, b.Key), e.Body) {
			o.links[[2]uint32{e.From, b.To}] = o.w.exchange.secrets[string(b.Enc)]
		}
	case *protocol.Group:
		if group, err := channel.NewSecret(m.disk.durable["group"]); err == nil {
			o.digests = o.w.session.DigestSecret(group)
		}
		o.once(m, "contradiction", purpose("group %d", b.To), e.Body)
	case *protocol.Round:
		o.once(m, "contradiction", purpose("round %d.%d", b.Round, b.Attempt), e.Body)
	case *protocol.Contribution:
		if o.once(m, "noised twice", purpose("contribution %d.%d", b.Round, b.Attempt), e.Body) {
			o.contributed(m, b)
		}
	case *protocol.Receipt:
		// A party that asks again gets the same receipt, perhaps under another root.
		if o.once(m, "contradiction", purpose("receipt %d %d.%d", b.Party, b.Round, b.Attempt), b.Bundle[:]) {
			o.receipted(m, b)
		}
	case *protocol.Hold:
		if o.once(m, "contradiction", purpose("hold %d.%d", b.Round, b.Attempt), e.Body) {
			o.held(m, b)
		}
	case *protocol.Agree:
		if o.once(m, "contradiction", purpose("agree %d.%d", b.Round, b.Attempt), e.Body) {
			o.agreed(m, b)
		}
	case *protocol.Partial:
		if o.once(m, "two reveals", purpose("partial %d", b.Round), e.Body) {
			o.revealed(m, b)
		}
	case *protocol.Confirm:
		if o.once(m, "contradiction", purpose("confirm %d.%d", b.Round, b.Attempt), e.Body) {
			o.confirmed(m, b)
		}
	case *protocol.Result:
		if o.once(m, "contradiction", purpose("result %d.%d", b.Round, b.Attempt), e.Body) {
			o.resulted(b)
		}
	}
}

// forgot reports whether a party may contribute again because its store went back and its manifest of the
// attempt never left: the bus has nothing that could tell it. It does so under another salt.
func (o *oracle) forgot(m *member, c *protocol.Chunk) bool {
	_, manifest := o.signed[fmt.Sprintf("%s contribution %d.%d", m.name, c.Round, c.Attempt)]
	return m.rewound && !manifest
}

func (o *oracle) chunkLeft(m *member, data []byte) {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil || int(c.From) != m.i || c.Index > 1<<10 {
		o.violate("malformed", "%s sent a chunk that nobody accepts: %v", m.name, err)
		return
	}
	rule, what := "noised twice", fmt.Sprintf("%s %d.%d", o.w.session.Name(c.To), c.Round, c.Attempt)
	switch c.Purpose {
	case protocol.PurposePartial:
		rule, what = "two reveals", fmt.Sprint(c.Round)
	case protocol.PurposeResult:
		rule = "contradiction"
	}
	key := fmt.Sprintf("%s key of chunk %d of %s, salt %x", m.name, c.Index, what, c.Salt)
	first := o.once(m, "two plaintexts for one key", key, c.Ciphertext)
	if rule != "noised twice" || !o.forgot(m, c) {
		o.once(m, rule, fmt.Sprintf("%s chunk %d of %s", m.name, c.Index, what), c.Ciphertext)
	}
	if !first {
		return
	}
	if c.Purpose == protocol.PurposeShare {
		o.paid(m, attempt{c.Round, c.Attempt})
	}
	list := o.chunks[c.Context]
	for len(list) <= int(c.Index) {
		list = append(list, nil)
	}
	list[c.Index] = c.Ciphertext
	o.chunks[c.Context] = list
	switch c.Purpose {
	case protocol.PurposePartial:
		o.opened(c.Context)
	case protocol.PurposeShare:
		o.shared(c.Context)
	}
}

// unsalted is a context without its salt.
func unsalted(c protocol.Context) protocol.Context {
	c.Salt = protocol.Salt{}
	return c
}

// durable checks a batch that is about to become durable.
func (o *oracle) durable(m *member) {
	for _, r := range m.disk.pending {
		if !o.answers(m.i) || !strings.HasPrefix(r.Key, "ledger/") {
			continue
		}
		if have, ok := m.disk.durable[r.Key]; ok && !bytes.Equal(have, r.Value) {
			o.violate("budget shrinks", "%s overwrites %s", m.name, r.Key)
			continue
		}
		at, ok := parseCharge(r.Value)
		if !ok {
			o.violate("budget shrinks", "%s writes %x as %s", m.name, r.Value, r.Key)
			continue
		}
		if o.charged[m.i] == nil {
			o.charged[m.i] = map[attempt]bool{}
		}
		o.charged[m.i][at] = true
	}
}

// paid checks that the charge for an attempt is durable before any of it is sent.
func (o *oracle) paid(m *member, at attempt) {
	if o.w.setup.Noise != protocol.NoiseNone && !o.charged[m.i][at] {
		o.violate("not charged", "%s's contribution to %s leaves before its charge is durable", m.name, at)
	}
}

// proposed records the update of a party.
func (o *oracle) proposed(m *member, p protocol.Proposal) {
	o.updates[key{uint32(m.i), attempt{p.Round, p.Attempt}}] = p
}

// accusations are refusals that imply a dishonest sender, the last unless others told sender and receiver
// different things.
var accusations = []error{protocol.ErrEquivocate, protocol.ErrWrongPlan, protocol.ErrSignature,
	protocol.ErrUnknown, protocol.ErrSealed, protocol.ErrMalformed, protocol.ErrSmallSet, protocol.ErrMismatch}

// noticed checks that no honest member's message is refused as dishonest.
func (o *oracle) noticed(m *member, msg *message, notices []protocol.Notice) {
	if msg == nil || !o.answers(msg.from) || !o.answers(m.i) || o.rewound(msg.from) || m.rewound {
		return
	}
	lies := accusations
	switch {
	case msg.mark == "!":
		lies = accusations[:1] // a forged message equivocates for no member
	case o.w.chaos.counts["lie"] > 0:
		lies = accusations[:len(accusations)-1]
	}
	for _, n := range notices {
		if n.Code != protocol.NoteRefused || o.lied(n.Peer) {
			continue
		}
		for _, lie := range lies {
			if errors.Is(n.Err, lie) && !namesNone(n) {
				o.violate("honest member accused", "%s on %s: %v", m.name, msg.key(), n.Err)
			}
		}
	}
}

// lied reports whether a name is that of a member that may lie: what an honest member passes on can show
// that its first sender signed two versions.
func (o *oracle) lied(name string) bool {
	return slices.ContainsFunc(o.w.members, func(m *member) bool { return m.name == name && !o.answers(m.i) })
}

// namesNone reports whether a refusal accuses no member: a node does not reveal, or what two members signed
// contradicts each other, and nothing shows which of them lied.
func namesNone(n protocol.Notice) bool {
	return n.Peer == "" && (errors.Is(n.Err, protocol.ErrSmallSet) || n.Detail == protocol.KindResult.String())
}

// close checks a session that has ended, or should have.
func (o *oracle) close() {
	o.ends()
	o.views()
	if len(o.violations) == 0 && len(o.rounds) == o.w.setup.Rounds+1 {
		o.balance()
	}
}

// ends checks that all members present have ended, with the session or by its
// abort.
func (o *oracle) ends() {
	agg := o.w.members[len(o.w.members)-1]
	for _, m := range o.w.members {
		switch {
		case m.gone || !o.answers(m.i):
		case o.w.chaos.counts["lie"] > 0: // members that lie may stop a session, and make others end it
		case o.w.chaos.counts["hole"]+o.w.chaos.counts["split"] > 0 && !m.done: // the bus broke its contract
		case !m.done && o.anyRewound(): // who lost what it agreed with others may stop them
		case m.done && m.end != nil && o.mayEnd(m.end):
		case !m.done && !o.excused(m, agg):
			o.violate("stuck", "%s hasn't ended", m.name)
		case m.done && m.end != nil && !o.quorumLost(m.end):
			o.violate("bad end", "%s: %v", m.name, m.end)
		case m.done && m.end == nil && len(o.rounds) != o.w.setup.Rounds+1:
			o.violate("bad end", "%s is done after %d rounds", m.name, len(o.rounds)-1)
		}
	}
}

// mayEnd reports whether a session in which a store went back may end in this way for a member: its own
// store's age or another member's contradiction stops it, or the session lacks a quorum.
func (o *oracle) mayEnd(err error) bool {
	class := protocol.ClassOf(err)
	return o.anyRewound() && (class == protocol.ClassIntegrity || class == protocol.ClassQuorum)
}

// excused reports whether a party started too late to join the session.
func (o *oracle) excused(m, agg *member) bool {
	_, joined := o.signed[fmt.Sprintf("%s group %d", agg.name, m.i)]
	return m.role == protocol.RoleParty && agg.done && !joined
}

// quorumLost reports whether every spare attempt was void, the only end besides
// completion that faults may cause.
func (o *oracle) quorumLost(err error) bool {
	return protocol.ClassOf(err) == protocol.ClassQuorum && len(o.voided) > o.w.setup.Spares
}
