package protocol

import (
	"errors"
	"fmt"
	"testing"

	"choir/crypto/identity"
)

// TestReceive: every sample is accepted from the role that may send it.
func TestReceive(t *testing.T) {
	s := testSession(t)
	kinds := map[Kind]bool{}
	for _, sm := range samples() {
		t.Run(sm.name, func(t *testing.T) {
			b, err := s.Sign(testKey(int(sm.from)), sm.from, sm.m)
			if err != nil {
				t.Fatal(err)
			}
			e, m, err := s.Receive(b)
			if err != nil {
				t.Fatal(err)
			}
			if e.From != sm.from || e.Kind != sm.m.kind() || m.kind() != sm.m.kind() {
				t.Errorf("decoded as %s from %d", e.Kind, e.From)
			}
			kinds[e.Kind] = true
		})
	}
	if len(kinds) != len(signedKinds()) {
		t.Errorf("%d kinds of %d", len(kinds), len(signedKinds()))
	}
}

// TestReceiveRejects: each row alters one thing in a valid message.
func TestReceiveRejects(t *testing.T) {
	s := testSession(t)
	other := testPlan()
	other.Rounds++
	for name, row := range map[string]struct {
		alter func(e *Envelope)
		want  error
	}{
		"another plan's id":      {alter: func(e *Envelope) { e.Plan = other.ID() }, want: ErrWrongPlan},
		"one bit of the plan id": {alter: func(e *Envelope) { e.Plan[31] ^= 1 }, want: ErrWrongPlan},
		"a stranger":             {alter: func(e *Envelope) { e.From = 6 }, want: ErrUnknown},
		"a far stranger":         {alter: func(e *Envelope) { e.From = 1 << 31 }, want: ErrUnknown},
		"another node's name":    {alter: func(e *Envelope) { e.From = 4 }, want: ErrSignature},
		"a party's name":         {alter: func(e *Envelope) { e.From = 0 }, want: ErrUnknown},
		"the aggregator's name":  {alter: func(e *Envelope) { e.From = 5 }, want: ErrUnknown},
		"another kind":           {alter: func(e *Envelope) { e.Kind = KindHold }, want: ErrSignature},
		"another shape of body":  {alter: func(e *Envelope) { e.Kind = KindReceipt }, want: ErrMalformed},
		"a kind of another role": {alter: func(e *Envelope) { e.Kind = KindRound }, want: ErrUnknown},
		"no kind at all":         {alter: func(e *Envelope) { e.Kind = 31 }, want: ErrUnknown},
		"body":                   {alter: func(e *Envelope) { e.Body[0] ^= 1 }, want: ErrSignature},
		"longer body":            {alter: func(e *Envelope) { e.Body = append(e.Body, 0) }, want: ErrSignature},
		"empty body":             {alter: func(e *Envelope) { e.Body = nil }, want: ErrSignature},
		"signature":              {alter: func(e *Envelope) { e.Sig[0] ^= 1 }, want: ErrSignature},
		"second half":            {alter: func(e *Envelope) { e.Sig[63] ^= 1 }, want: ErrSignature},
		"no signature":           {alter: func(e *Envelope) { e.Sig = identity.Signature{} }, want: ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := s.Sign(testKey(3), 3, &Agree{Round: 1, Attempt: 1, Count: 2, Set: testDigest(1)})
			if err != nil {
				t.Fatal(err)
			}
			e, err := UnmarshalEnvelope(b)
			if err != nil {
				t.Fatal(err)
			}
			row.alter(e)
			if b, err = e.Marshal(); err != nil {
				t.Fatal(err)
			}
			claimed, _, err := s.Receive(b)
			if !errors.Is(err, row.want) {
				t.Errorf("%v, not %v", err, row.want)
			}
			var eff Effects
			s.Refuse(&eff, claimed, err)
			if n := eff.Notices; len(n) != 1 || n[0].Code != NoteRefused || n[0].Peer == "" || n[0].Err == nil {
				t.Errorf("the notice does not name the sender: %+v", n)
			}
		})
	}
}

// TestSignedUnderAnotherSuite: the suite is signed in addition to the plan id.
func TestSignedUnderAnotherSuite(t *testing.T) {
	e := &Envelope{Kind: KindAgree, From: 3, Body: []byte{1}}
	a, err := e.toBeSigned(1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.toBeSigned(2)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) == string(b) {
		t.Error("the suite is not signed")
	}
}

// TestSignedByAnother: a message in a member's name, signed with another key, is rejected.
func TestSignedByAnother(t *testing.T) {
	s := testSession(t)
	b, err := s.Sign(testKey(4), 3, &Agree{Round: 1, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Receive(b); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

// TestSenderRoles: the roles that may send each kind.
func TestSenderRoles(t *testing.T) {
	may := map[Kind]string{
		KindAccept:       "pca",
		KindKey:          "ca",
		KindOpen:         "pc",
		KindGroup:        "a",
		KindRound:        "a",
		KindContribution: "p",
		KindReceipt:      "c",
		KindHold:         "c",
		KindAgree:        "c",
		KindPartial:      "c",
		KindResult:       "a",
		KindAbort:        "a",
		KindConfirm:      "c",
		KindMixRound:     "a",
		KindMixKeys:      "c",
		KindOnion:        "p",
		KindMixBatch:     "c",
		KindMixPiece:     "c",
		KindMixGo:        "p",
		KindMixAgree:     "c",
		KindMixComplaint: "c",
		KindMixResult:    "a",
	}
	for k := Kind(0); k <= 33; k++ {
		got := ""
		for r, letter := range map[Role]string{RoleParty: "p", RoleCompute: "c", RoleAggregator: "a"} {
			if k.from(r) != containsByte(may[k], letter[0]) {
				got += letter
			}
		}
		if got != "" {
			t.Errorf("%s: wrong for %q", k, got)
		}
	}
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}

// TestBodyUnderAnotherKind: a signature on one kind is invalid for another kind whose body has
// the same layout.
func TestBodyUnderAnotherKind(t *testing.T) {
	s := testSession(t)
	b, err := s.Sign(testKey(5), 5, &Round{Round: 1, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	b[0] = byte(KindGroup)
	if _, _, err := s.Receive(b); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

// refusing is a Verifier that accepts nothing.
type refusing struct{}

func (refusing) Verify(identity.PublicKey, []byte, identity.Signature) bool { return false }

func TestVerifierIsAsked(t *testing.T) {
	s := testSession(t)
	b, err := s.Sign(testKey(5), 5, &Round{Round: 1, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Verifier = refusing{}
	if _, _, err := s.Receive(b); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

func TestBundleDigest(t *testing.T) {
	s := testSession(t)
	a := &Contribution{Round: 1, Attempt: 1, Confirm: make([][16]byte, 2)}
	b := &Contribution{Round: 1, Attempt: 1, Confirm: [][16]byte{{}, {1}}}
	seen := map[Digest]bool{}
	for _, m := range []*Contribution{a, b} {
		for party := range uint32(2) {
			d, err := m.BundleDigest(s, party)
			if err != nil {
				t.Fatal(err)
			}
			seen[d] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d digests for 4 bundles", len(seen))
	}
	if _, err := (&Contribution{}).BundleDigest(s, 0); err == nil {
		t.Error("a contribution without an encoding has a digest")
	}
}

func TestClasses(t *testing.T) {
	base := errors.New("cause")
	wrapped := fmt.Errorf("outer: %w", Fail(ClassQuorum, "middle: %w", base))
	if ClassOf(wrapped) != ClassQuorum || !errors.Is(wrapped, base) || ClassOf(base) != ClassFailed {
		t.Error("the class or the cause is lost")
	}
	if err := UnmarshalEnd(MarshalEnd(wrapped)); ClassOf(err) != ClassQuorum || err.Error() != wrapped.Error() {
		t.Errorf("stored end: %v", err)
	}
	if UnmarshalEnd(MarshalEnd(nil)) != nil {
		t.Error("a completed session's end is not nil")
	}
	expired := NewAbort(Fail(ClassIntegrity, "%w: before the first round", ErrExpired))
	if err := expired.Cause(); !errors.Is(err, ErrExpired) || ClassOf(err) != ClassIntegrity ||
		err.Error() != "the aggregator ended the session: the plan has expired: before the first round" {
		t.Errorf("an abort for the plan's expiry: %v", err)
	}
	m := NewAbort(Fail(ClassBudget, "line\nbreak %s", string(make([]byte, 600))))
	if b, err := marshal(m); err != nil || len(b) != 1+4+512 {
		t.Errorf("an abort for any cause must encode: %d bytes, %v", len(b), err)
	}
	if ClassOf(m.Cause()) != ClassBudget {
		t.Error("the abort's class is not its cause's")
	}
}
