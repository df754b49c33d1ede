package collude

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"choir/compute"
	"choir/host"
	"choir/protocol"
	"choir/transport"
)

// restored starts an honest compute node again from an earlier copy of its store, over a broker that
// hides what the node said.
type restored struct{}

// restoredDim is the length of the sum.
const restoredDim = 16

// Info implements Attack.
func (restored) Info() Info {
	return Info{ID: "restored", Kind: "leak",
		What: "an honest compute node is started again from every earlier copy of its store, and a broker " +
			"shows it all messages but its own: how many other partial sums of a round it reveals, whose " +
			"differences are fresh noise or other parties",
		Needs: "the broker", Promise: promiseUpdates, Expected: Held,
		Control: "a node that has lost the secret from which its noise and salts follow"}
}

// Run implements Attack.
func (restored) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	c.Broker = true
	none, more := 0.0, 0.0
	out := Outcome{Coalition: c.String(), Unit: "further partial sums", Claimed: &none, Measured: &more}
	t := r.Target
	t.Rounds = 1
	if control && t.Noise != protocol.NoiseCompute {
		t.Noise, t.Variance = protocol.NoiseCompute, max(t.Variance, 1)
	}
	rec, err := r.record(ctx, fmt.Sprint("restored ", t.Noise), t, restoredDim, staging{keep: true},
		func(party, _ int) []int64 { return t.withLocal(others(party, restoredDim)) })
	if err != nil {
		return out, err
	}
	node := rec.session.Plan.Compute(rec.session.Plan.Computes() - 1)
	sums, err := rec.sums(rec.stored[node]["aggregator"], rec.sentBy(node))
	if err != nil {
		return out, err
	}
	first := len(sums)
	for changes := range len(rec.applied[node]) {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		again, err := rec.relive(r, node, changes, control || r.Lab.plants.freshNoise)
		if err != nil {
			return out, err
		}
		maps.Copy(sums, again)
	}
	more = float64(len(sums) - first)
	out.Verdict = atMost(more, 0, control || r.Target.tolerated(c))
	out.Story = []string{
		fmt.Sprintf("%s was started again from %d earlier copies of its store", rec.session.Name(node),
			len(rec.applied[node])),
		"the broker delivered the session's messages again, and none of the node's own",
		fmt.Sprintf("it revealed %d different partial sums of one round", len(sums))}
	return out, nil
}

// sentBy is what a member sent in the session.
func (r *record) sentBy(member uint32) (all [][]byte) {
	for _, m := range r.messages {
		if m.From == member {
			all = append(all, m.Data)
		}
	}
	return all
}

// sums opens the partial sums in messages with the stored channel to the aggregator.
func (r *record) sums(stored []byte, messages [][]byte) (map[string]bool, error) {
	found := map[string]bool{}
	for _, data := range messages {
		c, err := protocol.ViewChunk(data)
		if err != nil || c.Purpose != protocol.PurposePartial {
			continue
		}
		link, err := protocol.UnmarshalLink(stored)
		if err != nil {
			return nil, fmt.Errorf("the node's channel: %w", err)
		}
		plain, err := r.session.OpenChunk(link.Secret, c)
		if err != nil {
			return nil, fmt.Errorf("the node's partial sum: %w", err)
		}
		found[string(plain)] = true
	}
	return found, nil
}

// relive starts a node with the first changes of its store, delivers the session's messages to it but its
// own, and returns the partial sums that it reveals.
func (r *record) relive(run *Run, node uint32, changes int, forget bool) (map[string]bool, error) {
	store := host.NewRam()
	for _, records := range r.applied[node][:changes] {
		if err := store.Apply(records); err != nil {
			return nil, err
		}
	}
	if forget {
		if err := store.Apply([]protocol.Record{{Key: "secret", Value: run.fresh(node, changes)}}); err != nil {
			return nil, err
		}
	}
	m, err := compute.New(compute.Config{Session: r.session, Key: r.keys[node], Rand: run.random(node),
		View: store, ResendMS: time.Hour.Milliseconds()})
	if err != nil {
		return nil, err
	}
	filters, err := transport.NewFilters(r.session.Filters(node))
	if err != nil {
		return nil, err
	}
	now, done, link := time.Now().UnixMilli(), false, []byte(nil)
	var sent [][]byte
	step := func(ev protocol.Event) {
		if done || err != nil {
			return
		}
		now++
		eff := m.Step(now, ev)
		err, done = store.Apply(eff.Persist), eff.Done
		for _, o := range eff.Send {
			sent = append(sent, slices.Clone(o.Data))
		}
		if b := store.Get("aggregator"); b != nil {
			link = b // deleted at the end
		}
	}
	step(protocol.Start{})
	for _, msg := range r.messages {
		if msg.From != node && filters.Match(msg.Subject) {
			step(protocol.Delivery{Data: msg.Data})
			step(protocol.Tick{})
		}
	}
	if err != nil {
		return nil, err
	}
	return r.sums(link, sent)
}
