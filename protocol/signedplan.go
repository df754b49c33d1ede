package protocol

import (
	"bytes"
	"crypto/sha3"
	"encoding/pem"
	"slices"
	"time"

	"choir/crypto/blake"
	"choir/crypto/identity"
)

// SignedPlan is a plan with the signatures of some or all members.
//
// Layout: bytes plan | n* envelope (Accept), at most one a member, in
// roster order. The file form is one PEM block, type "CHOIR PLAN".
type SignedPlan struct {
	Plan    *Plan
	Accepts []*Envelope
}

func (sp *SignedPlan) fields(w *wire) {
	if w.reading() {
		sp.Plan = new(Plan)
	}
	w.within("plan", sp.Plan, maxBlob)
	if n := w.count("signatures", len(sp.Accepts), envelopeSize); w.reading() && w.err == nil {
		sp.Accepts = make([]*Envelope, n)
	}
	last := int64(-1)
	for i := range sp.Accepts {
		if sp.Accepts[i] == nil {
			sp.Accepts[i] = new(Envelope)
		}
		sp.Accepts[i].fields(w)
		if w.err == nil && int64(sp.Accepts[i].From) <= last {
			w.fail("signatures are not in roster order")
		}
		last = int64(sp.Accepts[i].From)
	}
}

const planBlock = "CHOIR PLAN"

// MarshalText returns the plan file.
func (sp *SignedPlan) MarshalText() ([]byte, error) {
	b, err := marshal(sp)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: planBlock, Bytes: b}), nil
}

// UnmarshalSignedPlan decodes a plan file. It checks the form, the plan's content and every
// signature. Complete checks that no signature is missing.
func UnmarshalSignedPlan(text []byte) (*SignedPlan, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != planBlock {
		return nil, Fail(ClassIntegrity, "plan file: %w: not one %q block", ErrMalformed, planBlock)
	}
	sp := new(SignedPlan)
	if err := unmarshal("plan file", block.Bytes, sp); err != nil {
		return nil, Fail(ClassIntegrity, "%w", err)
	}
	if bytes.Contains(text, []byte("\r\n")) {
		return nil, Fail(ClassIntegrity, "plan file: %w: its lines end in CR LF; "+
			"a plan file must be copied byte for byte, and its lines end in LF", ErrMalformed)
	}
	if canonical, err := sp.MarshalText(); err != nil || !bytes.Equal(canonical, text) {
		return nil, Fail(ClassIntegrity, "plan file: %w: the armour is not in canonical form", ErrMalformed)
	}
	if err := sp.Plan.Validate(); err != nil {
		return nil, err
	}
	if err := sp.checkAccepts(block.Bytes); err != nil {
		return nil, err
	}
	return sp, nil
}

// acceptBatch is the number of signatures of a plan file that are verified together. More
// would use memory and save no time.
const acceptBatch = 1024

// checkAccepts verifies the signatures in batches. The coefficients of the combinations are
// expanded from a hash of the whole file, so the author of a signature cannot know them: to
// find a file in which an invalid signature passes takes 2^128 evaluations of the hash.
func (sp *SignedPlan) checkAccepts(file []byte) error {
	s := Bind(sp.Plan)
	coefficients := sha3.NewSHAKE256()
	whole := blake.NewHash(fileContext)
	whole.Write(file)
	seed := whole.Sum()
	coefficients.Write(seed[:])
	for batch := range slices.Chunk(sp.Accepts, acceptBatch) {
		items := make([]identity.Item, len(batch))
		for i, e := range batch {
			if err := s.precheck(e); err != nil {
				return Fail(ClassIntegrity, "plan file: %w", err)
			}
			if _, err := Decode(e); err != nil || e.Kind != KindAccept {
				return Fail(ClassIntegrity, "plan file: %w: a %s among the signatures", ErrMalformed, e.Kind)
			}
			tbs, err := e.toBeSigned(uint8(s.Plan.Suite))
			if err != nil {
				return Fail(ClassIntegrity, "plan file: %w", err)
			}
			items[i] = identity.Item{Key: s.Plan.Members[e.From].Key, Msg: tbs, Sig: e.Sig}
		}
		if bad := identity.VerifyBatch(items, coefficients); len(bad) > 0 {
			name := s.Name(batch[bad[0]].From)
			return Fail(ClassIntegrity, "plan file: %w: %s by %s", ErrSignature, KindAccept, name)
		}
	}
	return nil
}

// Sign adds the signatures of the members with these keys. Signing twice changes nothing.
func (sp *SignedPlan) Sign(keys ...Signer) error {
	s := Bind(sp.Plan)
	index := make(map[identity.PublicKey]uint32, len(sp.Plan.Members))
	for i, m := range sp.Plan.Members {
		index[m.Key] = uint32(i)
	}
	accepts := make([]*Envelope, 0, len(keys))
	for _, key := range keys {
		i, ok := index[key.Public()]
		if !ok {
			print := key.Public().Fingerprint()
			return Fail(ClassIntegrity, "plan: %w: the key %s is not on the roster", ErrUnknown, print)
		}
		b, err := s.Sign(key, i, &Accept{})
		if err != nil {
			return err
		}
		e, err := UnmarshalEnvelope(b)
		if err != nil {
			return err
		}
		accepts = append(accepts, e)
	}
	sp.add(accepts)
	return nil
}

// add adds signatures in roster order, and replaces earlier ones of the same members.
func (sp *SignedPlan) add(accepts []*Envelope) {
	byMember := make([]*Envelope, len(sp.Plan.Members))
	for _, e := range slices.Concat(sp.Accepts, accepts) {
		byMember[e.From] = e
	}
	sp.Accepts = slices.DeleteFunc(byMember, func(e *Envelope) bool { return e == nil })
}

// Missing returns the names of the members that have not signed.
func (sp *SignedPlan) Missing() []string {
	have := map[uint32]bool{}
	for _, e := range sp.Accepts {
		have[e.From] = true
	}
	var names []string
	for i, m := range sp.Plan.Members {
		if !have[uint32(i)] {
			names = append(names, m.Name)
		}
	}
	return names
}

// named is the number of missing members that an error lists.
const named = 20

// unsigned is what to do about it.
const unsigned = "take the file that all have signed"

// Complete rejects a plan that some member has not signed or that has expired at the given
// time.
func (sp *SignedPlan) Complete(now time.Time) error {
	if m := sp.Missing(); len(m) > named {
		return Fail(ClassIntegrity, "plan: not signed by %v and %d more; "+unsigned, m[:named], len(m)-named)
	} else if len(m) > 0 {
		return Fail(ClassIntegrity, "plan: not signed by %v; "+unsigned, m)
	}
	if t := now.Unix(); t > sp.Plan.NotAfter {
		expiry := time.Unix(sp.Plan.NotAfter, 0).UTC().Format(time.RFC3339)
		return Fail(ClassIntegrity, "%w: at %s", ErrExpired, expiry)
	}
	return nil
}

// Merge adds the signatures of another copy of the same plan.
func (sp *SignedPlan) Merge(other *SignedPlan) error {
	if a, b := sp.Plan.ID(), other.Plan.ID(); a != b {
		return Fail(ClassIntegrity, "plan: %w: %s, not %s", ErrWrongPlan, b.Short(), a.Short())
	}
	own := sp.Accepts
	sp.Accepts = other.Accepts
	sp.add(own)
	return nil
}

// Member finds a member by its identity key and checks its role.
func (sp *SignedPlan) Member(key identity.PublicKey, r Role) (uint32, error) {
	i, ok := sp.Plan.Index(key)
	if !ok {
		return 0, Fail(ClassIntegrity, "plan: %w: the key %s is not on the roster", ErrUnknown, key.Fingerprint())
	}
	if !sp.Plan.Is(i, r) {
		m := sp.Plan.Members[i]
		return 0, Fail(ClassIntegrity, "plan: %w: %s is enrolled as %s, not as %s: start it as %s, or configure "+
			"the key of a %s", ErrUnknown, m.Name, m.Role, r, m.Role, r)
	}
	return i, nil
}
