package verify_test

import (
	"errors"
	"strings"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
)

// proofs returns the proofs of all results of a transcript.
func (w *script) proofs() (all [][]byte) {
	w.t.Helper()
	for _, b := range w.entries {
		if len(b) > 0 && protocol.Kind(b[0]) == protocol.KindResult {
			p, err := protocol.NewResultProof(b)
			w.must(err)
			stored, err := p.Marshal()
			w.must(err)
			all = append(all, stored)
		}
	}
	return all
}

// TestProofs: a party's proofs agree with the transcript that the aggregator hands out, unless the
// aggregator signed another result for the party.
func TestProofs(t *testing.T) {
	w := full(t, nil)
	honest := w.proofs()
	report := w.report()
	if err := verify.Proofs(report, honest); err != nil || len(honest) != 3 {
		t.Fatalf("%d proofs: %v", len(honest), err)
	}
	alter(w, 2, func(m *protocol.Result) { m.Next[0] ^= 1 })
	split := w.proofs()
	err := verify.Proofs(report, split)
	if !errors.Is(err, protocol.ErrEquivocate) || protocol.ClassOf(err) != protocol.ClassIntegrity ||
		!strings.Contains(err.Error(), "two results of round 2 attempt 1") {
		t.Error(err)
	}
	for i := range honest[0] {
		bad := append([]byte(nil), honest[0]...)
		bad[i] ^= 1
		if err := verify.Proofs(report, [][]byte{bad}); err == nil {
			t.Errorf("a proof with byte %d altered passes", i)
		}
	}
	if err := verify.Proofs(report, [][]byte{honest[0][:9]}); err == nil {
		t.Error("a short proof passes")
	}
	w = newScript(t, nil).begin()
	w.record(5, &protocol.Abort{Class: 5, Reason: "x"})
	err = verify.Proofs(w.report(), honest)
	if err == nil || !strings.Contains(err.Error(), "not on the transcript") {
		t.Error(err)
	}
}
