package collude

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"choir/compute"
	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
	"choir/transport"
)

// restored starts an honest compute node again from an earlier copy of its store, over a broker that
// hides what the node sent.
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
	sums, err := rec.sums(node, rec.sentBy(node))
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
	out.Verdict = atMost(more, 0, control || r.Target.tolerated(c) ||
		r.Target.Unclaimed && c.Nodes < r.Target.Nodes)
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

// sums opens the partial sums in a node's messages with its own secrets.
func (r *record) sums(node uint32, messages [][]byte) (map[string]bool, error) {
	v := &View{session: r.session, links: map[[2]uint32]secretOf{}}
	for key, value := range r.stored[node] {
		if err := v.secrets(node, key, value); err != nil {
			return nil, fmt.Errorf("the node's %s: %w", key, err)
		}
	}
	found := map[string]bool{}
	for _, data := range messages {
		c, err := protocol.ViewChunk(data)
		if err != nil || c.Purpose != protocol.PurposePartial {
			continue
		}
		plain, err := r.session.OpenChunk(v.links[[2]uint32{node, c.To}].at(c.Round), c)
		if err != nil {
			return nil, fmt.Errorf("the node's partial sum: %w", err)
		}
		found[string(plain)] = true
	}
	return found, nil
}

// forget replaces a node's own secret by one that it never had.
func forget(store host.Store, fresh []byte) error {
	keys, err := protocol.RestoreKeyring(store)
	if err != nil || !keys.Has(protocol.Own) {
		return err
	}
	secret, err := channel.NewSecret(fresh)
	if err != nil {
		return err
	}
	var eff protocol.Effects
	keys.Add(protocol.Own, keys.Round(), secret)
	keys.Store(&eff)
	return store.Apply(eff.Persist)
}

// relive starts a node with the first changes of its store, delivers the session's messages to it but its
// own, and returns the partial sums that it reveals.
func (r *record) relive(run *Run, node uint32, changes int, forgets bool) (map[string]bool, error) {
	life := &record{session: r.session}
	store := life.store(node, false)
	for _, records := range r.applied[node][:changes] {
		if err := store.Apply(records); err != nil {
			return nil, err
		}
	}
	if forgets {
		if err := forget(store, run.fresh(node, changes)); err != nil {
			return nil, err
		}
	}
	m, err := compute.New(compute.Config{Session: r.session, Key: r.keys[node], Rand: run.random(node),
		View: store, ResendMS: time.Hour.Milliseconds()})
	if err != nil {
		return nil, err
	}
	sent, err := r.replay(node, m, store)
	if err != nil {
		return nil, err
	}
	return life.sums(node, sent)
}

// replay delivers the session's messages to a member but its own, and returns what it sends.
func (r *record) replay(member uint32, m protocol.Machine, store host.Store) (sent [][]byte, err error) {
	filters, err := transport.NewFilters(r.session.Filters(member))
	if err != nil {
		return nil, err
	}
	events := []protocol.Event{protocol.Start{}}
	for _, msg := range r.messages {
		if msg.From != member && filters.Match(msg.Subject) {
			events = append(events, protocol.Delivery{Data: msg.Data}, protocol.Tick{})
		}
	}
	now := time.Now().UnixMilli()
	for _, ev := range events {
		now++
		eff := m.Step(now, ev)
		if err := store.Apply(eff.Persist); err != nil {
			return nil, err
		}
		for _, o := range eff.Send {
			sent = append(sent, slices.Clone(o.Data))
		}
		if eff.Done {
			break
		}
	}
	return sent, nil
}
