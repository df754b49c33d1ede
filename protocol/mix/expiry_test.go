package mix

import (
	"errors"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/protocol"
)

// TestExpiryEndsTheWait: under an expired plan the aggregator opens no attempt and ends the session for all,
// and a member that hears nothing ends by itself.
func TestExpiryEndsTheWait(t *testing.T) {
	s, keys := boundPlan(t, channel.SuiteX25519)
	start := func(member int, now int64) (protocol.Machine, protocol.Effects) {
		m, err := New(Config{Session: s, Key: keys[member], View: fixed{}, Rand: rand.NewChaCha8([32]byte{1}),
			ResendMS: 1 << 60})
		if err != nil {
			t.Fatal(err)
		}
		return m, m.Step(now, protocol.Start{})
	}
	if _, eff := start(7, s.Plan.Expiry()-1); eff.Done || len(eff.Send) == 0 {
		t.Errorf("the aggregator opens no attempt: %v", eff.Err)
	}
	_, eff := start(7, s.Plan.Expiry())
	if !errors.Is(eff.Err, protocol.ErrExpired) || len(eff.Send) != 1 {
		t.Fatalf("the aggregator: %v, %d messages", eff.Err, len(eff.Send))
	}
	_, msg, err := s.Receive(eff.Send[0].Data)
	if abort, ok := msg.(*protocol.Abort); err != nil || !ok || !errors.Is(abort.Cause(), protocol.ErrExpired) {
		t.Errorf("the members hear %+v, %v", msg, err)
	}
	for _, member := range []int{0, 4} {
		m, eff := start(member, 0)
		ends := s.Plan.Leaves(0)
		if eff.Wake != ends {
			t.Errorf("member %d: the next tick at %d, want %d", member, eff.Wake, ends)
		}
		if eff := m.Step(ends-1, protocol.Tick{}); eff.Done {
			t.Errorf("member %d ends too early: %v", member, eff.Err)
		}
		if eff := m.Step(ends, protocol.Tick{}); !errors.Is(eff.Err, protocol.ErrExpired) {
			t.Errorf("member %d: done %t, %v", member, eff.Done, eff.Err)
		}
	}
}
