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

// alterations are changes to a signed plan after which no member starts.
var alterations = []struct {
	what    string
	does    func(sp *protocol.SignedPlan, keys []*identity.PrivateKey)
	refused error // nil: any
	because string
}{
	{what: "a member hasn't signed", because: "not signed by [p0]",
		does: func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			sp.Accepts = sp.Accepts[1:]
		}},
	{what: "a member stands twice", refused: protocol.ErrMalformed, because: "roster order",
		does: func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			sp.Accepts[1] = sp.Accepts[0]
		}},
	{what: "signed in another's name", refused: protocol.ErrSignature, because: "p1",
		does: func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts[1] = envelope(must(protocol.Bind(sp.Plan).Sign(keys[0], 1, &protocol.Accept{})))
		}},
	{what: "signed by a stranger", refused: protocol.ErrUnknown, because: "member 8",
		does: func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts = append(sp.Accepts,
				envelope(must(protocol.Bind(sp.Plan).Sign(keys[0], 8, &protocol.Accept{}))))
		}},
	{what: "another message for a signature", refused: protocol.ErrMalformed, because: "among the signatures",
		does: func(sp *protocol.SignedPlan, keys []*identity.PrivateKey) {
			sp.Accepts[7] = envelope(must(protocol.Bind(sp.Plan).Sign(keys[7], 7, &protocol.Abort{Class: 1})))
		}},
	{what: "a party more, after the signing", refused: protocol.ErrWrongPlan,
		does: func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			extra := p.Members[3]
			extra.Name, extra.Key = "p4", identity.PublicKey(stranger.public)
			p.Members = append(append(append([]protocol.Member(nil), p.Members[:4]...), extra), p.Members[4:]...)
			sp.Plan = &p
		}},
	{what: "fewer parties to reveal, after the signing", refused: protocol.ErrWrongPlan,
		does: func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			p.MinParties = 2
			sp.Plan = &p
		}},
	{what: "fewer colluders, after the signing", refused: protocol.ErrWrongPlan,
		does: func(sp *protocol.SignedPlan, _ []*identity.PrivateKey) {
			p := *sp.Plan
			p.Colluders = 1
			sp.Plan = &p
		}},
}

// TestCheatingWithThePlan: no member starts under a plan that is altered or not
// signed by all.
func TestCheatingWithThePlan(t *testing.T) {
	for _, row := range alterations {
		t.Run(row.what, func(t *testing.T) {
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
