package mix

import (
	"errors"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/protocol"
)

// TestEarlyIsBounded: a member keeps one early message for each that an honest sender may have sent, however
// many a cheat sends. More would be handled again with every message that is accepted.
func TestEarlyIsBounded(t *testing.T) {
	s, _ := boundPlan(t, channel.SuiteX25519)
	a, _, _ := keyed(t, s, rand.NewChaCha8([32]byte{6}))
	var e early
	hold := func(index uint32, data string) error {
		m := &protocol.MixPiece{Round: 1, Attempt: 1, Stage: 2, Index: index}
		_, _, sl, _ := place(5, m)
		if !a.mayWait(m) {
			return protocol.ErrEarly
		}
		return e.hold(sl, []byte(data))
	}
	for i, want := range []error{nil, protocol.ErrDuplicate, protocol.ErrEquivocate, protocol.ErrEarly} {
		if err := hold([]uint32{0, 0, 0, 1}[i], []string{"a", "a", "b", "c"}[i]); !errors.Is(err, want) {
			t.Errorf("message %d: %v, want %v", i, err, want)
		}
	}
	if held := e.take(); len(held) != 1 || string(held[0]) != "a" {
		t.Errorf("held %q", held)
	}
	if err := hold(0, "b"); err != nil {
		t.Errorf("after the first was taken: %v", err)
	}
}
