package verify_test

import (
	"bytes"
	"os"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// FuzzTranscript: no record makes the verifier panic, every error has class integrity, and an
// accepted session completed or was aborted. The plan is one of coordinates, or an audited one of
// pairs if the record names it.
func FuzzTranscript(f *testing.F) {
	var plans []*protocol.SignedPlan
	for _, name := range []string{"session", "paired"} {
		text, err := os.ReadFile(recorded + "/" + name + ".plan")
		if err != nil {
			f.Fatal(err)
		}
		signed, err := protocol.UnmarshalSignedPlan(text)
		if err != nil {
			f.Fatal(err)
		}
		plans = append(plans, signed)
	}
	for _, name := range []string{"session", "audit", "paired"} { // the second has another plan
		record, err := os.ReadFile(recorded + "/" + name + ".transcript")
		if err != nil || len(record) == 0 {
			f.Fatal(name, err)
		}
		f.Add(record)
		f.Add(record[:len(record)/2])
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		entries, err := protocol.UnmarshalTranscript(record)
		if err != nil {
			return
		}
		signed := plans[0]
		if id := plans[1].Plan.ID(); bytes.Contains(record, id[:]) {
			signed = plans[1]
		}
		r, err := verify.Transcript(signed, entries, app.Sum{Dim: int(signed.Plan.Dim)})
		switch {
		case err != nil && protocol.ClassOf(err) != protocol.ClassIntegrity:
			t.Errorf("another class than integrity: %v", err)
		case err == nil && r.Completed() != (r.Rounds() == int(signed.Plan.Rounds)):
			t.Errorf("%d rounds of %d, aborted %q", r.Rounds(), signed.Plan.Rounds, r.Aborted)
		}
	})
}
