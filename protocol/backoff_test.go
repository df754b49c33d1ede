package protocol_test

import (
	"testing"

	"choir/protocol"
)

// TestBackoff: without progress the retransmissions come after 10, 20, 40, 80, 80, ...; after
// progress, after 10 again.
func TestBackoff(t *testing.T) {
	p := protocol.Backoff{Base: 10}
	progress, now := int64(1000), int64(1000)
	for _, wait := range []int64{10, 20, 40, 80, 80, 80} {
		if got := p.Due(progress); got != now+wait {
			t.Fatalf("at %d: due at %d, want %d", now, got, now+wait)
		}
		now += wait + 3 // the tick comes late
		p.Retransmitted(now)
	}
	for range 3 {
		progress = now + 5
		if got := p.Due(progress); got != progress+10 {
			t.Fatalf("progress at %d: due at %d", progress, got)
		}
		now = progress + 10
		p.Retransmitted(now)
		if got := p.Due(progress); got != now+20 {
			t.Fatalf("sent at %d: due at %d", now, got)
		}
	}
}
