package host

import (
	"context"
	"testing"

	"choir/protocol"
	"choir/transport/memory"
)

// held answers a round when its channel is closed, whether it is cancelled or not.
type held map[uint32]chan struct{}

func (h held) Propose(_ context.Context, w protocol.Work) ([]int64, []byte, error) {
	<-h[w.Round]
	return nil, nil, nil
}

// TestOldRequestIsNotAnswered: a request that another has replaced has no answer, though it ends first.
func TestOldRequestIsNotAnswered(t *testing.T) {
	for range 50 {
		h := held{1: make(chan struct{}), 2: make(chan struct{})}
		w := workers{parent: t.Context()}
		out := make(chan protocol.Proposal, 4)
		for round := range uint32(2) {
			w.start(protocol.Work{Round: round + 1}, h, out)
		}
		close(h[1])
		close(h[2])
		w.group.Wait()
		w.cancel()
		if answer := <-out; answer.Round != 2 || len(out) > 0 {
			t.Fatalf("an answer of round %d, and %d more", answer.Round, len(out))
		}
	}
}

// TestOldAnswerLeavesTheNewRequest: a party whose answer to an earlier request arrives late still computes
// the last one, and isn't idle.
func TestOldAnswerLeavesTheNewRequest(t *testing.T) {
	j := NewJournal(NewRam())
	d := newDriver(t.Context(), Config{Machine: newCounter(j, 1, 1), Journal: j,
		Bus: memory.NewHub().Connect("party")})
	d.computing = &protocol.Work{Round: 2, Attempt: 1}
	for _, p := range []protocol.Proposal{{Round: 1, Attempt: 1}, {Round: 2, Attempt: 1}} {
		d.proposals <- p
		if err := d.waitForEvent(t.Context()); err != nil {
			t.Fatal(err)
		}
		if computes := d.computing != nil; computes != (p.Round == 1) {
			t.Errorf("after the answer to round %d: it computes: %t", p.Round, computes)
		}
	}
}
