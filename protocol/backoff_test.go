package protocol_test

import (
	"testing"

	"choir/protocol"
)

// TestPause: a machine that sees nothing move repeats itself after 10, 20, 40, 80, 80, ...;
// once something has moved, after 10 again.
func TestPause(t *testing.T) {
	p := protocol.Backoff{Base: 10}
	moved, now := int64(1000), int64(1000)
	for _, wait := range []int64{10, 20, 40, 80, 80, 80} {
		if got := p.Due(moved); got != now+wait {
			t.Fatalf("at %d: due at %d, want %d", now, got, now+wait)
		}
		now += wait + 3 // a tick comes late
		p.Retransmitted(now)
	}
	for range 3 {
		moved = now + 5
		if got := p.Due(moved); got != moved+10 {
			t.Fatalf("moved at %d: due at %d", moved, got)
		}
		now = moved + 10
		p.Retransmitted(now)
		if got := p.Due(moved); got != now+20 {
			t.Fatalf("said at %d: due at %d", now, got)
		}
	}
}
