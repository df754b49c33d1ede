package aggregator

import (
	"bytes"
	"testing"

	"choir/crypto/channel"
	"choir/protocol"
)

// TestRatchet: the secret of a round is the same in whatever order rounds are asked for, and the one after
// costs no more in a long session than in a short one.
func TestRatchet(t *testing.T) {
	first, err := channel.NewSecret(bytes.Repeat([]byte{7}, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	r := newRatchet(first)
	for _, round := range []uint32{1, 2, 3, 3, 9, 4, 1, 5} {
		if want := protocol.Later(first, round-1); !bytes.Equal(r.in(round).Bytes(), want.Bytes()) {
			t.Errorf("round %d has another secret", round)
		}
	}
	cost := func(round uint32) float64 {
		r.in(round)
		return testing.AllocsPerRun(10, func() { round++; r.in(round) })
	}
	if early, late := cost(1), cost(5000); late > early {
		t.Errorf("a round costs %v allocations after round 1 and %v after round 5000", early, late)
	}
}
