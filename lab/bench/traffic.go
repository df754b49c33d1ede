package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"choir/protocol"
	"choir/transport"
)

// traffic records who published how much under which subject, in which calls.
type traffic struct {
	mu        sync.Mutex
	opened    bool
	setup     [][]call // by member
	round     [][]call
	onOpening func()
	at        time.Time       // of the last Round, zero once its sum is there
	sums      []time.Duration // from each Round until the aggregator had the sum
}

// call is one Publish.
type call []piece

type piece struct {
	subject string
	bytes   int
}

func newTraffic(members int) *traffic {
	return &traffic{setup: make([][]call, members), round: make([][]call, members), onOpening: func() {}}
}

func (t *traffic) record(member int, msgs []transport.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var setup, round call
	for _, m := range msgs {
		if !t.opened && topic(m.Subject) == "ctl" {
			t.opened = true
			t.onOpening()
		}
		t.clock(m.Subject)
		if p := (piece{m.Subject, len(m.Data)}); isSetup(m.Subject) {
			setup = append(setup, p)
		} else {
			round = append(round, p)
		}
	}
	if len(setup) > 0 {
		t.setup[member] = append(t.setup[member], setup)
	}
	if len(round) > 0 {
		t.round[member] = append(t.round[member], round)
	}
}

// clock notes the aggregator's times: it publishes a Round when it opens one, and a Result as soon as it has
// the sum.
func (t *traffic) clock(subject string) {
	switch about := topic(subject); {
	case about == "ctl":
		t.at = time.Now()
	case about == "result" && !t.at.IsZero():
		t.sums = append(t.sums, time.Since(t.at))
		t.at = time.Time{}
	}
}

// aggregate is the mean of the times until the aggregator had a sum, in seconds.
func (t *traffic) aggregate() float64 {
	all := time.Duration(0)
	for _, d := range t.sums {
		all += d
	}
	return all.Seconds() / float64(max(1, len(t.sums)))
}

// tally counts all that was published.
func (t *traffic) tally(s protocol.BoundPlan) *tally {
	sums := newTally(s)
	for _, part := range [][][]call{t.setup, t.round} {
		for member, calls := range part {
			for _, p := range slices.Concat(calls...) {
				sums.add(uint32(member), p.subject, p.bytes)
			}
		}
	}
	return sums
}

// recordedBus is a member's connection whose publications are recorded.
type recordedBus struct {
	transport.Bus
	member int
	log    *traffic
}

// Publish implements transport.Bus.
func (b *recordedBus) Publish(ctx context.Context, msgs ...transport.Message) error {
	b.log.record(b.member, msgs)
	return b.Bus.Publish(ctx, msgs...)
}
