//go:build !race

package verify_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
)

// TestEveryByte: a flipped bit in any byte of a small transcript or of its plan file is found. It
// does not run under the race detector, which makes signatures twenty times slower.
func TestEveryByte(t *testing.T) {
	w := newScript(t, func(p *protocol.Plan) { p.Rounds, p.SpareAttempts = 1, 0 }).begin()
	w.entries = w.entries[:2] // one channel is enough
	v := values()
	delete(v, 1)
	w.attempt(1, 1, v, 0, 2)
	plan, err := w.signed.MarshalText()
	w.must(err)
	record := protocol.MarshalTranscript(w.entries)
	signed, err := protocol.UnmarshalSignedPlan(plan)
	w.must(err)
	check := func(record []byte) error {
		entries, err := protocol.UnmarshalTranscript(record)
		if err != nil {
			return err
		}
		_, err = verify.Transcript(signed, entries, w.model)
		return err
	}
	if err := check(record); err != nil {
		t.Fatal(err)
	}
	everyByte(t, "transcript", record, check)
	everyByte(t, "plan", plan, func(b []byte) error {
		signed, err := protocol.UnmarshalSignedPlan(b)
		if err != nil {
			return err
		}
		_, err = verify.Transcript(signed, w.entries, w.model)
		return err
	})
}

// everyByte flips one bit of each byte.
func everyByte(t *testing.T, name string, b []byte, check func([]byte) error) {
	t.Helper()
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			bad := bytes.Clone(b)
			for i := w; i < len(b); i += workers {
				bad[i] ^= 1 << (i % 8)
				if check(bad) == nil {
					t.Errorf("%s: byte %d of %d, bit %d", name, i, len(b), i%8)
				}
				bad[i] = b[i]
			}
		})
	}
	group.Wait()
	t.Logf("%s: %d bytes", name, len(b))
}
