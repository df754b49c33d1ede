package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
)

// signedTable is the table's plan with real keys, signed by all.
func signedTable(t *testing.T) (*protocol.SignedPlan, []*identity.PrivateKey) {
	t.Helper()
	s, keys, err := cheater{}.liveSession(liveTimes)
	if err != nil {
		t.Fatal(err)
	}
	sp := &protocol.SignedPlan{Plan: s.Plan}
	for _, k := range keys {
		if err := sp.Sign(k); err != nil {
			t.Fatal(err)
		}
	}
	if err := sp.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	return sp, keys
}

// TestCheatingWithThePlan is the part of the table that ends before a session
// begins: what nobody signed, or signed as something else, starts nothing.
func TestCheatingWithThePlan(t *testing.T) {
	for what, row := range map[string]struct {
		does    func(sp *protocol.SignedPlan, keys []*identity.PrivateKey)
		refused error
		because string
	}{
		"a member hasn't signed": {func(sp *protocol.SignedPlan,
			_ []*identity.PrivateKey) {
			sp.Accepts = sp.Accepts[1:]
		}, nil, "not signed by [p0]"},
		"a member stands twice": {func(sp *protocol.SignedPlan,
			_ []*identity.PrivateKey) {
			sp.Accepts[1] = sp.Accepts[0]
		}, protocol.ErrMalformed, "roster order"},
		"signed in another's name": {func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts[1] = envelope(must(protocol.Bind(sp.Plan).Sign(keys[0], 1, &protocol.Accept{})))
		}, protocol.ErrSignature, "p1"},
		"signed by a stranger": {func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts = append(sp.Accepts,
				envelope(must(protocol.Bind(sp.Plan).Sign(keys[0], 8, &protocol.Accept{}))))
		}, protocol.ErrUnknown, "member 8"},
		"another message for a signature": {func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts[7] = envelope(must(protocol.Bind(sp.Plan).Sign(keys[7], 7, &protocol.Abort{Class: 1})))
		}, protocol.ErrMalformed, "among the signatures"},
		"a party more, after the signing": {func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			extra := p.Members[3]
			extra.Name, extra.Key = "p4", identity.PublicKey(stranger.public)
			p.Members = append(append(append([]protocol.Member(nil), p.Members[:4]...), extra), p.Members[4:]...)
			sp.Plan = &p
		}, protocol.ErrWrongPlan, ""},
		"fewer parties to reveal, after the signing": {func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			p.MinParties = 1
			sp.Plan = &p
		}, protocol.ErrWrongPlan, ""},
		"fewer colluders, after the signing": {func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			p.Colluders = 1
			sp.Plan = &p
		}, protocol.ErrWrongPlan, ""},
	} {
		t.Run(what, func(t *testing.T) {
			sp, keys := signedTable(t)
			row.does(sp, keys)
			err := readPlan(sp)
			if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity ||
				!strings.Contains(err.Error(), row.because) ||
				(row.refused != nil && !errors.Is(err, row.refused)) {
				t.Errorf("%v, want %v because %q", err, row.refused, row.because)
			}
		})
	}
}

// readPlan writes a plan file and reads it as a member would.
func readPlan(sp *protocol.SignedPlan) error {
	text, err := sp.MarshalText()
	if err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	read, err := protocol.UnmarshalSignedPlan(text)
	if err != nil {
		return err
	}
	return read.Complete(time.Now())
}

func envelope(b []byte) *protocol.Envelope { return must(protocol.UnmarshalEnvelope(b)) }
