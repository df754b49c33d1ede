package verify_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

var update = flag.Bool("update", false, "write the session on record instead of replaying it")

const recorded = "../../testdata/protocol"

// TestRecordedSessions: the recorded plan files and transcripts verify, and the code still writes
// them byte for byte. They are a plain session with a void attempt, an audited one, and an audited
// one of pairs.
func TestRecordedSessions(t *testing.T) {
	audit := func(p *protocol.Plan) { p.Audit = true }
	paired := func(p *protocol.Plan) { p.Audit, p.Paired = true, true }
	for name, change := range map[string]func(*protocol.Plan){"session": nil, "audit": audit, "paired": paired} {
		t.Run(name, func(t *testing.T) {
			w := full(t, change)
			plan, err := w.signed.MarshalText()
			w.must(err)
			record := protocol.MarshalTranscript(w.entries)
			planPath, recordPath := filepath.Join(recorded, name+".plan"), filepath.Join(recorded, name+".transcript")
			if *update {
				w.must(os.WriteFile(planPath, plan, 0o644))
				w.must(os.WriteFile(recordPath, record, 0o644))
			}
			gotPlan, err := os.ReadFile(planPath)
			w.must(err)
			gotRecord, err := os.ReadFile(recordPath)
			w.must(err)
			if !bytes.Equal(gotPlan, plan) || !bytes.Equal(gotRecord, record) {
				t.Error("the code writes other bytes")
			}
			signed, err := protocol.UnmarshalSignedPlan(gotPlan)
			w.must(err)
			entries, err := protocol.UnmarshalTranscript(gotRecord)
			w.must(err)
			r, err := verify.Transcript(signed, entries, app.Sum{Dim: 2})
			w.must(err)
			if r.Rounds() != 2 || len(r.Attempts) != 3 || r.Model()[1] != 418 || r.Audited != signed.Plan.Audit ||
				signed.Plan.Paired != (name == "paired") {
				t.Errorf("%+v", r)
			}
		})
	}
}
