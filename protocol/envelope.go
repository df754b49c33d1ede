package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/identity"
)

// Kind names what a message is for; it is part of what is signed.
type Kind uint8

const (
	KindAccept       Kind = 1  // member -> plan file: I sign this plan
	KindKey          Kind = 2  // compute node, aggregator -> all: my key for this plan
	KindOpen         Kind = 3  // party, compute node -> key owner: our channel
	KindGroup        Kind = 4  // aggregator -> member: the group key, sealed
	KindRound        Kind = 5  // aggregator -> all: a round's attempt is open
	KindContribution Kind = 6  // party -> compute nodes: what I sent to each
	KindReceipt      Kind = 7  // compute node -> party: I hold your contribution durably
	KindHold         Kind = 8  // compute node -> all: whose contributions I hold
	KindAgree        Kind = 9  // compute node -> all: the set I am ready to reveal
	KindPartial      Kind = 10 // compute node -> aggregator: my partial sum
	KindResult       Kind = 11 // aggregator -> all: what came of the attempt
	KindAbort        Kind = 12 // aggregator -> all: the session ends here
	KindChunk        Kind = 32 // a sealed piece of a vector; authenticated by its channel, unsigned
)

// MaxMessage bounds a whole encoded message, in bytes: a Result that names
// MaxMembers parties takes 4.5 MiB. Every bus carries that, in as many pieces
// as it needs.
const MaxMessage = 8 << 20

// envelopeSize is what an envelope adds to its body.
const envelopeSize = 1 + 32 + 4 + 4 + 64

// maxBody bounds a signed message's body, in bytes, and maxSetBody that of one
// that names a set of parties.
const (
	maxBody    = 528<<10 - envelopeSize
	maxSetBody = MaxMessage - envelopeSize
)

func (k Kind) maxBody() int {
	if k == KindHold || k == KindResult {
		return maxSetBody
	}
	return maxBody
}

// Envelope is a signed message.
//
// Layout: u8 kind | 32 plan id | u32 sender | bytes body | 64 signature. The
// signature (Ed25519) covers
//
//	"choir v1 message" 00 | u8 suite | 32 plan id | u8 kind | u32 sender | bytes body
//
// with, for a receipt, the root of the receipts that were signed together in place of
// the body (see SignReceipts).
type Envelope struct {
	Kind Kind
	Plan PlanID
	From uint32 // index into Plan.Members
	Body []byte
	Sig  identity.Signature
}

func (e *Envelope) fields(w *wire) {
	w.u8("kind", (*uint8)(&e.Kind))
	w.fixed("plan id", e.Plan[:])
	w.u32("sender", &e.From)
	w.blob("body", &e.Body, e.Kind.maxBody())
	w.fixed("signature", e.Sig[:])
	if e.Kind == 0 || e.Kind >= KindChunk {
		w.fail("kind %d isn't a signed message", e.Kind)
	}
}

// head writes what stands before a body of so many bytes.
func (w *wire) head(e *Envelope, body int) {
	n := uint32(body)
	w.u8("kind", (*uint8)(&e.Kind))
	w.fixed("plan id", e.Plan[:])
	w.u32("sender", &e.From)
	w.u32("body length", &n)
}

// Marshal is the message's canonical form.
func (e *Envelope) Marshal() ([]byte, error) { return marshalSized(e, envelopeSize+len(e.Body)) }

// UnmarshalEnvelope reads the form alone; nothing in it may be believed before
// Verify.
func UnmarshalEnvelope(b []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := unmarshal("envelope", b, e); err != nil {
		return nil, err
	}
	return e, nil
}

// signedSize is what is signed beside the body, in bytes.
const signedSize = 17 + 1 + 32 + 1 + 4 + 4

// toBeSigned is the byte string that the signature covers.
func (e *Envelope) toBeSigned(suite uint8) ([]byte, error) {
	return e.appendSigned(make([]byte, 0, signedSize+len(e.Body)), suite)
}

// appendSigned appends it to b: no more than signedSize bytes and the body's length.
func (e *Envelope) appendSigned(b []byte, suite uint8) ([]byte, error) {
	body := e.Body
	if e.Kind == KindReceipt { // the root of the tree that it stands in
		var err error
		if body, err = receiptStatement(e.Body); err != nil {
			return nil, err
		}
	}
	if max := e.Kind.maxBody(); len(body) > max {
		return nil, fmt.Errorf("%w: body has %d bytes, more than %d", ErrMalformed, len(body), max)
	}
	b = append(append(b, "choir v1 message\x00"...), suite)
	b = append(append(b, e.Plan[:]...), byte(e.Kind))
	b = binary.BigEndian.AppendUint32(b, e.From)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...), nil
}

// Signer is an identity key; *identity.PrivateKey is one.
type Signer interface {
	Public() identity.PublicKey
	Sign(msg []byte) identity.Signature
}

// Verifier checks signatures. The one that counts is identity.Verify.
type Verifier interface {
	Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool
}

// BoundPlan is a plan with its id worked out: what signing and checking need.
type BoundPlan struct {
	Plan *Plan
	ID   PlanID
	// Verifier replaces identity.Verify when it isn't nil. Bind leaves it nil;
	// a process sets a Batch, the simulator, whose members sign with something
	// cheaper, its own.
	Verifier Verifier

	members map[identity.PublicKey]uint32 // index by key
}

// Bind takes a plan that Validate accepted.
func Bind(p *Plan) BoundPlan {
	s := BoundPlan{Plan: p, ID: p.ID(), members: make(map[identity.PublicKey]uint32, len(p.Members))}
	for i := range p.Members {
		s.members[p.Members[i].Key] = uint32(i)
	}
	return s
}

// Index finds the member that holds an identity key, however long the roster is.
func (s BoundPlan) Index(key identity.PublicKey) (uint32, bool) {
	i, ok := s.members[key]
	return i, ok
}

// Sign encodes a message of member from.
func (s BoundPlan) Sign(key Signer, from uint32, m Message) ([]byte, error) {
	body, err := marshal(m)
	if err != nil {
		return nil, fmt.Errorf("sign %T: %w", m, err)
	}
	e := &Envelope{Kind: m.kind(), Plan: s.ID, From: from, Body: body}
	if e.Sig, err = s.signature(key, e); err != nil {
		return nil, fmt.Errorf("sign %T: %w", m, err)
	}
	return e.Marshal()
}

func (s BoundPlan) signature(key Signer, e *Envelope) (sig identity.Signature, err error) {
	tbs, err := e.toBeSigned(uint8(s.Plan.Suite))
	if err != nil {
		return sig, err
	}
	return key.Sign(tbs), nil
}

// Check refuses an envelope of another plan, of a stranger, or with a
// signature that doesn't verify; only after it may the body be read.
func (s BoundPlan) Check(e *Envelope) error {
	if err := s.precheck(e); err != nil {
		return err
	}
	if b, ok := s.Verifier.(*Batch); ok && b.knows(e) {
		return nil
	}
	tbs, err := e.toBeSigned(uint8(s.Plan.Suite))
	if err != nil {
		return err
	}
	if !s.verify(s.Plan.Members[e.From].Key, tbs, e.Sig) {
		return fmt.Errorf("%w: %s by %s", ErrSignature, e.Kind, s.Plan.Members[e.From].Name)
	}
	return nil
}

func (s BoundPlan) verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	if s.Verifier != nil {
		return s.Verifier.Verify(key, msg, sig)
	}
	return identity.Verify(key, msg, sig)
}

// precheck is what needs no asymmetric operation: plan, sender, the sender's role.
func (s BoundPlan) precheck(e *Envelope) error {
	if e.Plan != s.ID {
		return fmt.Errorf("%w: plan %s, not %s", ErrWrongPlan, e.Plan.Short(), s.ID.Short())
	}
	if uint64(e.From) >= uint64(len(s.Plan.Members)) {
		return fmt.Errorf("%w: member %d", ErrUnknown, e.From)
	}
	m := s.Plan.Members[e.From]
	if !e.Kind.from(m.Role) {
		return fmt.Errorf("%w: %s isn't for a %s (%s) to send", ErrUnknown, e.Kind, m.Role, m.Name)
	}
	return nil
}

// from reports whether a role may send the kind at all.
func (k Kind) from(r Role) bool {
	switch k {
	case KindAccept:
		return true
	case KindKey:
		return r == RoleCompute || r == RoleAggregator
	case KindOpen:
		return r == RoleParty || r == RoleCompute
	case KindContribution:
		return r == RoleParty
	case KindReceipt, KindHold, KindAgree, KindPartial:
		return r == RoleCompute
	case KindGroup, KindRound, KindResult, KindAbort:
		return r == RoleAggregator
	}
	return false
}

// String is the kind's name in logs and errors.
func (k Kind) String() string {
	names := [...]string{KindAccept: "accept", KindKey: "key", KindOpen: "open", KindGroup: "group key",
		KindRound: "round", KindContribution: "contribution", KindReceipt: "receipt", KindHold: "hold",
		KindAgree: "agree", KindPartial: "partial sum", KindResult: "result", KindAbort: "abort", KindChunk: "chunk"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Receive decodes a signed message, checks it, and decodes its body. The
// envelope is returned with an error too when its form was right, so that a
// refusal can name the claimed sender; its own body is a part of data, which must
// not change while that is in use.
func (s BoundPlan) Receive(data []byte) (*Envelope, Message, error) {
	if b, ok := s.Verifier.(*Batch); ok {
		if e := b.read(data); e != nil && e.Plan == s.ID {
			m, err := Decode(e)
			return e, m, err
		}
	}
	e := new(Envelope)
	if err := view("envelope", data, e); err != nil {
		return nil, nil, err
	}
	if err := s.Check(e); err != nil {
		return e, nil, err
	}
	m, err := Decode(e)
	return e, m, err
}

// Refused is the notice for a message that was refused.
func (s BoundPlan) Refused(e *Envelope, err error) Notice {
	n := Notice{Code: NoteRefused, Err: err}
	if e != nil {
		n.Peer, n.Detail = s.Name(e.From), e.Kind.String()
	}
	return n
}
