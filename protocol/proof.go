package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/blake"
	"choir/crypto/identity"
)

// ResultProof is what a party keeps of a result that the aggregator signed: enough to show later
// that the aggregator signed another one for the same attempt.
//
// Layout: u32 round | u32 attempt | 32 digest | 64 signature.
type ResultProof struct {
	Round   uint32
	Attempt uint32
	Digest  Digest // of the result's body
	Sig     identity.Signature
}

func (p *ResultProof) fields(w *wire) {
	w.attempt(&p.Round, &p.Attempt)
	w.fixed("digest", p.Digest[:])
	w.fixed("signature", p.Sig[:])
}

// statement is what the aggregator's signature on a result covers in place of its body.
func (p *ResultProof) statement() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(p.Digest)), p.Round)
	return append(binary.BigEndian.AppendUint32(b, p.Attempt), p.Digest[:]...)
}

// resultStatement returns what the signature on a result with this body covers.
func resultStatement(body []byte) ([]byte, error) {
	p := ResultProof{Digest: blake.Derive(resultContext, body)}
	if len(body) < 8 {
		return nil, fmt.Errorf("%w: a result of %d bytes", ErrMalformed, len(body))
	}
	p.Round = binary.BigEndian.Uint32(body)
	p.Attempt = binary.BigEndian.Uint32(body[4:])
	return p.statement(), nil
}

// NewResultProof returns the proof of a signed Result that Receive accepted.
func NewResultProof(data []byte) (*ResultProof, error) {
	e := new(Envelope)
	if err := view("envelope", data, e); err != nil {
		return nil, err
	}
	m, err := Decode(e)
	if err != nil {
		return nil, err
	}
	r, ok := m.(*Result)
	if !ok {
		return nil, fmt.Errorf("%w: a %s is not a result", ErrMalformed, e.Kind)
	}
	digest := blake.Derive(resultContext, e.Body)
	return &ResultProof{Round: r.Round, Attempt: r.Attempt, Digest: digest, Sig: e.Sig}, nil
}

// Marshal returns the stored form.
func (p *ResultProof) Marshal() ([]byte, error) { return marshal(p) }

// UnmarshalResultProof is the inverse of Marshal. It does not check the signature.
func UnmarshalResultProof(b []byte) (*ResultProof, error) {
	p := new(ResultProof)
	return p, unmarshal("proof of a result", b, p)
}

// CheckProof checks that the plan's aggregator signed the result of a proof.
func (s BoundPlan) CheckProof(p *ResultProof) error {
	e := &Envelope{Kind: KindResult, Plan: s.ID, From: s.Plan.Aggregator()}
	signed := e.appendStatement(nil, uint8(s.Plan.Suite), p.statement())
	if !s.verify(s.Plan.Members[e.From].Key, signed, p.Sig) {
		return fmt.Errorf("%w: a result by %s", ErrSignature, s.Name(e.From))
	}
	return nil
}
