package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"

	"choir/crypto/identity"
)

// maxMessage bounds an encoded message, in bytes. A Result with MaxMembers parties has
// 4.5 MiB. A bus may split messages into fragments.
const maxMessage = 8 << 20

// envelopeSize is the size of an envelope without its body, in bytes.
const envelopeSize = 1 + 32 + 4 + 4 + 64

// maxBody bounds the body of a signed message, in bytes, and maxSetBody that of a message with
// a set of parties.
const (
	maxBody    = 528<<10 - envelopeSize
	maxSetBody = maxMessage - envelopeSize
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
// with, in place of the body, for a receipt the root of the receipts that were signed together
// (see SignReceipts), and for a result what ResultProof keeps.
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
		w.fail("kind %d is not a signed message", e.Kind)
	}
}

// head writes the fields before a body of the given length.
func (w *wire) head(e *Envelope, body int) {
	n := uint32(body)
	w.u8("kind", (*uint8)(&e.Kind))
	w.fixed("plan id", e.Plan[:])
	w.u32("sender", &e.From)
	w.u32("body length", &n)
}

// Marshal returns the message's canonical form.
func (e *Envelope) Marshal() ([]byte, error) { return marshalSized(e, envelopeSize+len(e.Body)) }

// UnmarshalEnvelope checks the form alone. Nothing in the envelope may be trusted before
// Check.
func UnmarshalEnvelope(b []byte) (*Envelope, error) {
	e := new(Envelope)
	if err := unmarshal("envelope", b, e); err != nil {
		return nil, err
	}
	return e, nil
}

// signedSize is the number of signed bytes in addition to the body.
const signedSize = 17 + 1 + 32 + 1 + 4 + 4

// toBeSigned returns the bytes that the signature covers.
func (e *Envelope) toBeSigned(suite uint8) ([]byte, error) {
	return e.appendSigned(make([]byte, 0, signedSize+len(e.Body)), suite)
}

// appendSigned appends toBeSigned to b: at most signedSize bytes and the body's length.
func (e *Envelope) appendSigned(b []byte, suite uint8) ([]byte, error) {
	body := e.Body
	var err error
	switch e.Kind {
	case KindReceipt: // the root of the receipt's tree
		body, err = receiptStatement(e.Body)
	case KindResult:
		body, err = resultStatement(e.Body)
	}
	if err != nil {
		return nil, err
	}
	if max := e.Kind.maxBody(); len(body) > max {
		return nil, fmt.Errorf("%w: body has %d bytes, more than %d", ErrMalformed, len(body), max)
	}
	return e.appendStatement(b, suite, body), nil
}

// appendStatement appends what a signature covers, given what replaces the body.
func (e *Envelope) appendStatement(b []byte, suite uint8, body []byte) []byte {
	b = append(append(b, "choir v1 message\x00"...), suite)
	b = append(append(b, e.Plan[:]...), byte(e.Kind))
	b = binary.BigEndian.AppendUint32(b, e.From)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

// Signer is an identity key, such as *identity.PrivateKey.
type Signer interface {
	Public() identity.PublicKey
	Sign(msg []byte) identity.Signature
}

// Verifier checks signatures like identity.Verify.
type Verifier interface {
	Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool
}

// BoundPlan is a plan with its id, as needed for signing and checking messages.
type BoundPlan struct {
	Plan *Plan
	ID   PlanID
	// Verifier replaces identity.Verify if it is not nil. Bind leaves it nil. A process sets a
	// Batch; the simulator sets its own, for signatures that are cheaper to make.
	Verifier Verifier

	members map[identity.PublicKey]uint32 // index by key
}

// Bind returns the BoundPlan of a plan that Validate accepted.
func Bind(p *Plan) BoundPlan {
	s := BoundPlan{Plan: p, ID: p.ID(), members: make(map[identity.PublicKey]uint32, len(p.Members))}
	for i := range p.Members {
		s.members[p.Members[i].Key] = uint32(i)
	}
	return s
}

// Index finds the member with an identity key, in constant time for any roster.
func (s BoundPlan) Index(key identity.PublicKey) (uint32, bool) {
	i, ok := s.members[key]
	return i, ok
}

// Sign encodes and signs a message of member from.
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

// Check rejects an envelope of another plan, of an unknown sender or with an invalid
// signature. The body may be read only after it.
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

// precheck makes the checks without asymmetric operations: the plan, the sender and its role.
func (s BoundPlan) precheck(e *Envelope) error {
	if e.Plan != s.ID {
		return fmt.Errorf("%w: plan %s, not %s", ErrWrongPlan, e.Plan.Short(), s.ID.Short())
	}
	if uint64(e.From) >= uint64(len(s.Plan.Members)) {
		return fmt.Errorf("%w: member %d", ErrUnknown, e.From)
	}
	m := s.Plan.Members[e.From]
	if !e.Kind.from(m.Role) {
		return fmt.Errorf("%w: %s is not for a %s (%s) to send", ErrUnknown, e.Kind, m.Role, m.Name)
	}
	return nil
}

// Receive decodes a signed message, checks it and decodes its body. If the form is right it
// returns the envelope also with an error, so that a notice can name the claimed sender. The
// envelope's body is a part of data, which must not change while it is in use.
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

// Refuse notes the error of a rejected message, with the member that it claims to be from. It
// ignores nil and ErrDuplicate.
func (s BoundPlan) Refuse(eff *Effects, e *Envelope, err error) {
	if err == nil || errors.Is(err, ErrDuplicate) {
		return
	}
	n := Notice{Code: NoteRefused, Err: err}
	if e != nil {
		n.Peer = s.Name(e.From)
		n.Detail = e.Kind.String()
	}
	eff.Note(n)
}
