package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"choir/crypto/channel"
)

// TestLinks checks a session over links against what no link can undercut: the five messages, one after
// another, each from a member to the broker and from there to another, until the aggregator has the sum; and
// the time that a party's row takes. What the links carried is counted on their sockets, and is what the
// members counted and the broker's framing.
func TestLinks(t *testing.T) {
	const rtt, mbit = 0.02, 2
	cfg := Config{Parties: 4, Computes: 2, Dim: 5000, Transport: NATS, Suite: channel.SuiteX25519,
		Link: Link{RTT: rtt, Mbit: mbit}, Repeats: 1, Rounds: 2}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	row := 8 * 8 * 5000 / (mbit * 1e6)
	if least := 5*rtt + row; r.SecondsAggregate < least {
		t.Errorf("the sum after %g s, under %g s that the links take at the least", r.SecondsAggregate, least)
	}
	if r.Bare.Seconds < row {
		t.Errorf("the bare transfer took %g s, not under the links", r.Bare.Seconds)
	}
	for _, role := range r.Traffic {
		sent := role.Setup.BytesSent + 2*role.Round.BytesSent
		messages := role.Setup.MessagesSent + 2*role.Round.MessagesSent
		if w := role.Wire; w == nil || w.BytesSent < sent || w.BytesSent > sent+4096+1024*messages {
			t.Errorf("%s: %+v on the wire, of %d bytes in %d messages", role.Role, w, sent, messages)
			continue
		}
		received := role.Setup.BytesReceived + 2*role.Round.BytesReceived
		messages += role.Setup.MessagesReceived + 2*role.Round.MessagesReceived
		if w := role.Wire; w.BytesReceived < received-int64(role.Members) ||
			w.BytesReceived > received+8192+1024*messages {
			t.Errorf("%s: received %d bytes on the wire, of %d", role.Role, w.BytesReceived, received)
		}
	}
}

// TestSlowLinkEnds checks that a run over a link that would take hours ends with its context.
func TestSlowLinkEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cfg := Config{Parties: 4, Computes: 2, Dim: 1 << 20, Transport: NATS, Link: Link{RTT: 0.5, Mbit: 0.01}}
	if _, err := Run(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run whose context has ended: %v", err)
	}
}
