package collude

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"choir/protocol"
)

// timing guesses from the order of contributions how long the victim computed.
type timing struct{}

// timingRounds are the rounds of the session.
const timingRounds = 8

// Info implements Attack.
func (timing) Info() Info {
	return Info{ID: "timing", Kind: "leak",
		What: "traffic analysis: in rounds that a coin chooses the victim computes longer than all others; the " +
			"broker guesses which from the order of the contributions",
		Needs: "the broker", Promise: "their times are in the open", Expected: NotPromised,
		Control: "the same, judged as if times were hidden"}
}

// orders are the parties in the order of their contributions, by round.
type orders struct {
	mu    sync.Mutex
	by    map[int][]uint32
	slow  []bool // by round, from 0: the victim is the last one; otherwise the first one
	party int
}

// saw notes a contribution.
func (o *orders) saw(r *record, m message) []message {
	if _, msg, err := r.session.Receive(m.Data); err == nil {
		if c, ok := msg.(*protocol.Contribution); ok {
			o.mu.Lock()
			if round := int(c.Round); !slices.Contains(o.by[round], m.From) {
				o.by[round] = append(o.by[round], m.From)
			}
			o.mu.Unlock()
		}
	}
	return []message{m}
}

// think waits until those who are faster in a round have contributed.
func (o *orders) think(ctx context.Context, _ *record, party, round int) {
	for ctx.Err() == nil {
		o.mu.Lock()
		seen := o.by[round]
		slow := o.slow[round-1]
		ready := slow == (party > 0) || slow && len(seen) == o.party-1 || !slow && slices.Contains(seen, 0)
		o.mu.Unlock()
		if ready {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Run implements Attack.
func (timing) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	right, chance := 0.0, 0.5
	c.Broker = true
	out := Outcome{Coalition: c.String(), Unit: "share of guesses right", Measured: &right, Claimed: &chance}
	t := r.Target
	t.Rounds = timingRounds
	o := &orders{by: map[int][]uint32{}, party: t.Parties}
	rng := r.rng("timing")
	for range timingRounds {
		o.slow = append(o.slow, rng.IntN(2) == 1)
	}
	if _, err := r.Lab.run(ctx, t, restoredDim, staging{says: o.saw, think: o.think},
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) }); err != nil {
		return out, err
	}
	for i, slow := range o.slow {
		guess := o.by[i+1][0] != 0
		if guess == slow {
			right += 1.0 / timingRounds
		}
	}
	out.Verdict = atMost(right, chance, control || right <= chance)
	out.Story = []string{fmt.Sprintf("in %d rounds the broker guessed whether the victim computed longer than "+
		"the others, %.0f%% of the times right", timingRounds, 100*right)}
	return out, nil
}
