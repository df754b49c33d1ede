package verify_test

import (
	"slices"
	"strings"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
)

// brokenOff is an audited session that the aggregator ends after the partial sums of round 1,
// before a result.
func brokenOff(t *testing.T) *script {
	w := newScript(t, func(p *protocol.Plan) { p.Audit = true }).begin().attempt(1, 1, values(), 0, 1)
	w.entries = w.entries[:len(w.entries)-1]
	return w
}

func (w *script) end() {
	w.record(5, &protocol.Abort{Class: 7, Reason: "integrity"})
}

// TestEvidence: the report of an attempt that was ended names the contradiction in it.
func TestEvidence(t *testing.T) {
	for name, row := range map[string]struct {
		lie   func(w *script)
		fault string
	}{
		"nothing":               {lie: func(*script) {}, fault: ""},
		"lists only":            {lie: func(w *script) { w.entries = w.entries[:len(w.entries)-6] }, fault: ""},
		"a partial sum missing": {lie: func(w *script) { w.entries = w.entries[:len(w.entries)-2] }, fault: ""},
		"a vector missing":      {lie: func(w *script) { w.entries = w.entries[:len(w.entries)-1] }, fault: ""},
		"another blinding sum": {lie: func(w *script) {
			w.blind(0)
		}, fault: "commitments do not open"},
		"a sum of something else": {lie: func(w *script) { w.anotherSum(0) }, fault: "commitments do not open"},
		"a reveal of another set": {lie: func(w *script) {
			alter(w, 0,
				func(m *protocol.Partial) { m.Set[0] ^= 1 })
		},
			fault: "node-a revealed over another set"},
		"an agree that cannot be": {lie: func(w *script) { both(w, func(m *protocol.Agree) { m.Count++ }) },
			fault: "another set than their lists have in common"},
		"a reveal after a dispute": {lie: func(w *script) {
			alter(w, 0,
				func(m *protocol.Agree) { m.Set[0] ^= 1 })
		},
			fault: "signed different sets"},
	} {
		t.Run(name, func(t *testing.T) {
			w := brokenOff(t)
			row.lie(w)
			w.end()
			r, err := verify.Transcript(w.signed, w.entries, w.model)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if (r.Fault == "") != (row.fault == "") || !strings.Contains(r.Fault, row.fault) || r.Aborted == "" ||
				r.Rounds() != 0 || r.Releases != 0 {
				t.Errorf("fault %q, aborted %q", r.Fault, r.Aborted)
			}
		})
	}
}

func both(w *script, change func(*protocol.Agree)) {
	alter(w, 0, change)
	alter(w, 1, change)
}

// TestEvidenceIsChecked: each entry must be what its member signed for this attempt.
func TestEvidenceIsChecked(t *testing.T) {
	for name, row := range map[string]struct {
		lie   func(w *script)
		cause string
	}{
		"another round": {lie: func(w *script) { alter(w, 1, func(m *protocol.Agree) { m.Round = 2 }) },
			cause: "it is for round 2"},
		"twice": {lie: func(w *script) { w.entries = slices.Insert(w.entries, 8, w.entries[8]) },
			cause: "out of order"},
		"swapped": {lie: func(w *script) { w.entries[8], w.entries[9] = w.entries[9], w.entries[8] },
			cause: "out of order"},
		"a flipped bit": {lie: func(w *script) { w.entries[9][60] ^= 1 }, cause: "signature does not verify"},
		"another vector": {lie: func(w *script) { i := len(w.entries) - 1; w.entries[i][3] ^= 1 },
			cause: "is not the one that was signed"},
		"a vector cut": {lie: func(w *script) { i := len(w.entries) - 1; w.entries[i] = w.entries[i][:9] },
			cause: "malformed"},
		"a stray receipt": {lie: func(w *script) { w.record(3, &protocol.Receipt{Round: 1, Attempt: 1, Count: 1}) },
			cause: "out of order"},
		"a stray key": {lie: func(w *script) {
			w.rewrite(7, 5, &protocol.Round{Round: 1, Attempt: 1})
			w.record(4, &protocol.Partial{Round: 2, Attempt: 1})
		}, cause: ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := brokenOff(t)
			row.lie(w)
			w.end()
			_, err := verify.Transcript(w.signed, w.entries, w.model)
			if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity ||
				!strings.Contains(err.Error(), row.cause) {
				t.Errorf("%v", err)
			}
		})
	}
}
