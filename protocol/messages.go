package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"choir/crypto/channel"
	"choir/crypto/commit"
)

// Message is the body of a signed message.
type Message interface {
	fielder
	kind() Kind
}

// Digest is a 256-bit hash, BLAKE3 in a separate context for each use.
type Digest [32]byte

// Accept is a member's signature on the plan that the envelope names. Layout: empty.
type Accept struct{}

// Key is a responder's HPKE public key for this plan. A compute node deletes the private key when
// all parties have a channel to it. When a round ends before that, it replaces the key by one for the
// parties that have none, since a holder of the first could open the channels of the others.
// The aggregator keeps its one key until the plan ends.
//
// Layout: u32 number | bytes public | i64 not_after (unix seconds) | n* u32 party (none in the first key).
type Key struct {
	Number   uint32 // from 1
	Public   []byte
	NotAfter int64
	For      []uint32 // the parties that may use it, in increasing order; empty in the first key: all
}

// IsFor reports whether a party may use the key.
func (m *Key) IsFor(party uint32) bool {
	_, found := slices.BinarySearch(m.For, party)
	return found || m.Number == 1
}

// Open sets up the channel from the sender to a key owner with an HPKE encapsulation to the
// key of this digest. There is one for each pair and plan.
//
// Layout: u32 to | 32 key digest | bytes encapsulation.
type Open struct {
	To  uint32
	Key Digest
	Enc []byte
}

// Digest is what a responder keeps of an Open to recognize it.
func (m *Open) Digest() Digest { return digest(openContext, m.Key[:], m.Enc) }

// Group is the plan's group key for one member, sealed under their channel. What the
// aggregator publishes for the members alone is sealed under the group key.
//
// Layout: u32 to | bytes sealed (32 bytes of key and the seal's overhead).
type Group struct {
	To     uint32
	Sealed []byte
}

// Round opens an attempt of a round, on the model with this digest.
//
// Layout: u32 round | u32 attempt | 32 model | 32 last.
type Round struct {
	Round   uint32 // from 1
	Attempt uint32 // from 1
	Model   Digest
	Last    Digest // ResultDigest of the last round's result; zero in round 1
}

// Contribution is the manifest of what a party sent in an attempt: one digest over the
// ciphertext of the explicit share and, for every node, a confirmation that only the two ends
// of their channel can compute. Nodes compare its digest, so a party cannot send different
// contributions to different nodes.
//
// In audit mode it also has the party's commitment to its noised update, and shares of the
// commitment's blinding scalar, one sealed to each node. Otherwise the commitment is zero and
// there are no shares.
//
// Layout: u32 round | u32 attempt | 32 model | 32 last | 16 salt | u32 explicit | 32 vector |
// 32 commitment | n* 48 blinding (none, or one per compute node in roster order) |
// n* 16 confirmation (one per compute node, in roster order). The fields before the
// confirmations are what these confirm.
type Contribution struct {
	Round    uint32
	Attempt  uint32
	Model    Digest
	Last     Digest // ResultDigest of the last round's result; zero in round 1
	Salt     Salt   // of the shares
	Explicit uint32 // which compute node (0..M-1) received the explicit share
	Vector   Digest // ChunkList digest of the explicit share's ciphertext

	Commitment commit.Commitment
	Blinding   []SealedScalar

	Confirm [][16]byte
}

// Entry is one party's contribution in a set.
type Entry struct {
	Party  uint32
	Bundle Digest
}

// Hold is a node's held list: the contributions that the node has, in order of party. It is
// the first phase of the set agreement.
//
// Layout: u32 round | u32 attempt | 32 last | n* (u32 party | 32 bundle).
type Hold struct {
	Round   uint32
	Attempt uint32
	Last    Digest // ResultDigest of the last round's result; zero in round 1
	Entries []Entry
}

// Agree is a node's signature on the set that it is ready to reveal, the intersection of all M
// held lists. It is the second phase: a partial sum is revealed only with M equal Agrees. It also
// fixes the node's partial sum, before the node has seen any other's, and the sum of the set's
// commitments. Over a set that is too small there is no partial sum, and both are zero.
//
// Layout: u32 round | u32 attempt | u32 count | 32 set | 32 partial | 32 commitments.
type Agree struct {
	Round       uint32
	Attempt     uint32
	Count       uint32
	Set         Digest
	Partial     Digest            // VectorDigest of this node's partial sum
	Commitments commit.Commitment // sum of the set's commitments; zero without audit
}

// Equal reports whether two nodes agree: on the set and on the sum of its commitments.
func (m *Agree) Equal(other *Agree) bool {
	return m.Set == other.Set && m.Count == other.Count && m.Commitments == other.Commitments
}

// Partial announces a node's partial sum over the agreed set. The vector follows in sealed
// chunks.
//
// Layout: u32 round | u32 attempt | 32 set | 32 vector | 80 opening.
type Partial struct {
	Round   uint32
	Attempt uint32
	Set     Digest
	Vector  Digest                        // VectorDigest of the partial sum's field elements and the opening
	Opening [2*32 + channel.Overhead]byte // sealed for the aggregator
}

// Outcome is the outcome of an attempt.
type Outcome uint8

const (
	OutcomeAccepted Outcome = 1 // the sum was revealed and folded into the model
	OutcomeVoid     Outcome = 2 // nothing was revealed; another attempt may follow
	OutcomeRejected Outcome = 3 // the sum was revealed, but is out of range: the model stays
)

// String returns the outcome's name in logs and metrics.
func (o Outcome) String() string {
	switch o {
	case OutcomeAccepted:
		return "accepted"
	case OutcomeVoid:
		return "void"
	case OutcomeRejected:
		return "rejected"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Result is the outcome of an attempt. The aggregate follows in chunks sealed under the group
// key. A void result has an empty set and no chunks, and its other fields are zero.
//
// Layout: u32 round | u32 attempt | u8 outcome | n* (u32 party | 32 bundle) |
// 32 aggregate | 32 next model | n* 32 partial (one per compute node) | 32 commitments |
// 48 blinding | 32 trace | n* 32 chunk.
type Result struct {
	Round     uint32
	Attempt   uint32
	Outcome   Outcome
	Set       []Entry
	Aggregate Digest // IntDigest of the decoded sum
	Next      Digest // IntDigest of the model after the round
	Partials  []Digest

	Commitments commit.Commitment // the sum that the Agrees have; zero without audit
	Blinding    SealedScalar      // sum of the nodes' blinding sums, under the group key; zero without audit
	Trace       SealedTrace       // sum of the nodes' traces, see Confirm
	Chunks      []Digest          // of the aggregate's sealed chunks, in order
}

// Abort ends the session.
//
// Layout: u8 class (1..7) | text reason.
type Abort struct {
	Class  uint8  // a Class
	Reason string // at most 512 printable characters
}

// NewAbort returns the message for an error.
func NewAbort(cause error) *Abort {
	return &Abort{Class: uint8(ClassOf(cause)), Reason: Printable(cause.Error())}
}

// Cause returns the error with which a receiver ends.
func (m *Abort) Cause() error {
	if rest, ok := strings.CutPrefix(m.Reason, ErrExpired.Error()); ok && Class(m.Class) == ClassIntegrity {
		return Fail(ClassIntegrity, "the aggregator ended the session: %w%s", ErrExpired, rest)
	}
	return Fail(Class(m.Class), "the aggregator ended the session: %s", m.Reason)
}

func (*Accept) kind() Kind       { return KindAccept }
func (*Key) kind() Kind          { return KindKey }
func (*Open) kind() Kind         { return KindOpen }
func (*Group) kind() Kind        { return KindGroup }
func (*Round) kind() Kind        { return KindRound }
func (*Contribution) kind() Kind { return KindContribution }
func (*Receipt) kind() Kind      { return KindReceipt }
func (*Hold) kind() Kind         { return KindHold }
func (*Agree) kind() Kind        { return KindAgree }
func (*Partial) kind() Kind      { return KindPartial }
func (*Result) kind() Kind       { return KindResult }
func (*Abort) kind() Kind        { return KindAbort }

func (*Accept) fields(*wire) {}

func (m *Key) fields(w *wire) {
	w.u32("key number", &m.Number)
	w.blob("public key", &m.Public, 4096)
	w.i64("key expiry", &m.NotAfter)
	w.increasing("party", &m.For)
	if w.err == nil && (m.Number < 1 || (m.Number == 1) != (len(m.For) == 0)) {
		w.fail("key %d is for %d parties", m.Number, len(m.For))
	}
}

func (m *Open) fields(w *wire) {
	w.u32("to", &m.To)
	w.fixed("key digest", m.Key[:])
	w.blob("encapsulation", &m.Enc, 4096)
}

func (m *Group) fields(w *wire) {
	w.u32("to", &m.To)
	w.blob("sealed key", &m.Sealed, 64)
}

func (m *Round) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("model", m.Model[:])
	w.fixed("last result", m.Last[:])
}

func (m *Contribution) fields(w *wire) {
	m.manifest(w)
	if n := w.count("confirmations", len(m.Confirm), 16); w.reading() {
		m.Confirm = make([][16]byte, n)
	}
	for i := range m.Confirm {
		w.fixed("confirmation", m.Confirm[i][:])
	}
	if w.err == nil && uint64(m.Explicit) >= uint64(len(m.Confirm)) {
		w.fail("explicit node %d of %d", m.Explicit, len(m.Confirm))
	}
}

// manifest is all fields but the confirmations.
func (m *Contribution) manifest(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("model", m.Model[:])
	w.fixed("last result", m.Last[:])
	w.fixed("salt", m.Salt[:])
	w.u32("explicit node", &m.Explicit)
	w.fixed("vector digest", m.Vector[:])
	w.fixed("commitment", m.Commitment[:])
	if n := w.count("blinding shares", len(m.Blinding), sealedScalarSize); w.reading() {
		m.Blinding = make([]SealedScalar, n)
	}
	for i := range m.Blinding {
		w.fixed("blinding share", m.Blinding[i][:])
	}
}

func (m *Hold) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("last result", m.Last[:])
	w.entries("held", &m.Entries)
}

func (m *Agree) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("count", &m.Count)
	w.fixed("set", m.Set[:])
	w.fixed("partial", m.Partial[:])
	w.fixed("commitments", m.Commitments[:])
}

func (m *Partial) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("set", m.Set[:])
	w.fixed("vector", m.Vector[:])
	w.fixed("opening", m.Opening[:])
}

func (m *Result) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u8("outcome", (*uint8)(&m.Outcome))
	if w.err == nil && (m.Outcome < OutcomeAccepted || m.Outcome > OutcomeRejected) {
		w.fail("no such outcome %d", m.Outcome)
	}
	w.entries("set", &m.Set)
	w.fixed("aggregate", m.Aggregate[:])
	w.fixed("next model", m.Next[:])
	w.digests("partial", &m.Partials)
	w.fixed("commitments", m.Commitments[:])
	w.fixed("blinding", m.Blinding[:])
	w.fixed("trace", m.Trace[:])
	w.digests("chunk", &m.Chunks)
	if w.err == nil && m.Outcome == OutcomeVoid && !m.empty() {
		w.fail("a void result has a set, a sum or a model")
	}
}

// empty reports whether a result has no set, no sum and no model.
func (m *Result) empty() bool {
	return len(m.Set) == 0 && len(m.Partials) == 0 && len(m.Chunks) == 0 &&
		m.Aggregate == Digest{} && m.Next == Digest{} && m.Commitments == commit.Commitment{} &&
		m.Blinding == SealedScalar{} && m.Trace == SealedTrace{}
}

// digests is a list of digests.
func (w *wire) digests(name string, list *[]Digest) {
	if n := w.count(name+"s", len(*list), 32); w.reading() {
		*list = make([]Digest, n)
	}
	for i := range *list {
		w.fixed(name, (*list)[i][:])
	}
}

func (m *Abort) fields(w *wire) {
	w.u8("class", &m.Class)
	if c := Class(m.Class); w.err == nil && (c < ClassFailed || c > ClassIntegrity) {
		w.fail("no such class %d", m.Class)
	}
	w.text("reason", &m.Reason, 512)
}

// attempt is the round and the attempt, both counted from 1.
func (w *wire) attempt(round, attempt *uint32) {
	w.u32("round", round)
	w.u32("attempt", attempt)
	if w.err == nil && (*round == 0 || *attempt == 0) {
		w.fail("round %d, attempt %d: both count from 1", *round, *attempt)
	}
}

// entries is a set in strictly increasing order of party, so that a set has one encoding.
func (w *wire) entries(name string, set *[]Entry) {
	n := w.count(name, len(*set), entrySize)
	var all []byte // a set can have 100,000 entries, which are decoded from one slice
	if w.reading() {
		*set = make([]Entry, n)
		all = w.take(name, entrySize*n)
		for i := range *set {
			if w.err != nil {
				return
			}
			b := all[entrySize*i:]
			(*set)[i] = Entry{binary.BigEndian.Uint32(b), Digest(b[4:entrySize])}
		}
	}
	for i := 1; i < len(*set); i++ {
		if (*set)[i].Party <= (*set)[i-1].Party {
			w.fail("%s is not in increasing order of party at entry %d", name, i)
			return
		}
	}
	if !w.reading() {
		w.b = slices.Grow(w.b, entrySize*n)
		for _, e := range *set {
			w.b = append(binary.BigEndian.AppendUint32(w.b, e.Party), e.Bundle[:]...)
		}
	}
}

// Decode decodes the body of an envelope that Check accepted.
func Decode(e *Envelope) (Message, error) {
	m := newMessage(e.Kind)
	if m == nil {
		return nil, fmt.Errorf("%w: no such kind %d", ErrMalformed, e.Kind)
	}
	if err := unmarshal(e.Kind.String(), e.Body, m); err != nil {
		return nil, err
	}
	return m, nil
}
