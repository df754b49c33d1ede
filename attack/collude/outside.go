package collude

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"choir/crypto/field"
	"choir/protocol"
)

// guesses tries possible sums against every digest in the view.
type guesses struct{}

// maxGuess is the largest count that is tried.
const maxGuess = 1 << 14

// Info implements Attack.
func (guesses) Info() Info {
	return Info{ID: "guesses", Kind: "leak",
		What: "confirmation of guesses: every possible value of an un-noised count, and what it leaves for the " +
			"last honest node's partial sum, against every digest that the view holds in clear",
		Needs: "the broker or a compute node", Expected: Held,
		Promise: "They confirm no guess, however few values are possible",
		Control: "the same view with one digest of the sum under no key"}
}

// Run implements Attack.
func (guesses) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	c.Parties, c.Aggregator = 0, false // who has the group key reads the sum
	c.Nodes = min(c.Nodes, r.Target.Nodes-1)
	out := Outcome{Coalition: c.String(), Unit: "sums found", Verdict: Undecided}
	t := r.Target.bare()
	secret := int64(1 + r.rng("count").IntN(maxGuess-1))
	rec, err := r.record(ctx, "count", t, 1, staging{}, func(party, _ int) []int64 {
		if party == 0 {
			return []int64{secret}
		}
		return []int64{0}
	})
	if err != nil {
		return out, err
	}
	v, err := rec.view(c, nil)
	if err != nil {
		return out, err
	}
	if control {
		d := protocol.IntDigest(protocol.DigestKey{}, []int64{secret})
		v.messages = append(slices.Clone(v.messages), message{Data: append([]byte("digest "), d[:]...)})
	}
	right, none := 0.0, 0.0
	if slices.Contains(v.confirm(maxGuess), secret) {
		right = 1
		out.Story = []string{fmt.Sprintf("the sum is %d, found after %d guesses, with no key", secret, secret)}
	}
	out.Measured, out.Claimed = &right, &none
	out.Verdict = atMost(right, 0, true)
	return out, nil
}

// confirm returns the values from 1 to limit whose digest is in a message. (The first model,
// 0, is public.)
func (v *View) confirm(limit int64) (found []int64) {
	windows := map[protocol.Digest]bool{}
	for _, m := range v.messages {
		for i := 0; i+32 <= len(m.Data); i++ {
			windows[protocol.Digest(m.Data[i:i+32])] = true
		}
	}
	e, known := make(field.Vector, 1), make(field.Vector, 1)
	for k := range v.Coalition.Nodes {
		if p, ok := v.partial(v.session.Plan.Compute(k), 1); ok {
			known.Add(p)
		}
	}
	for x := int64(1); x <= limit; x++ {
		e.SetSigned([]int64{x})
		e.Sub(known) // what the last honest node's partial sum would be
		if windows[protocol.IntDigest(protocol.DigestKey{}, []int64{x})] ||
			windows[protocol.VectorDigest(e, protocol.Opening{})] {
			found = append(found, x)
		}
	}
	return found
}

// traffic compares what sizes show of two very different inputs.
type traffic struct{}

// Info implements Attack.
func (traffic) Info() Info {
	return Info{ID: "traffic", Kind: "leak",
		What:  "traffic analysis: whether the number and sizes of messages by kind depend on the victim's vector",
		Needs: "the broker", Promise: "Contributions have the same size for everyone", Expected: Held,
		Control: "a vector of another length"}
}

// Run implements Attack.
func (traffic) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	c.Broker = true
	out := Outcome{Coalition: c.String(), Unit: "kinds of message whose sizes differ", Verdict: Undecided}
	t := r.Target
	t.Rounds = 1
	small := func(party, _ int) []int64 { return t.withLocal(make([]int64, 64)) }
	large := func(party, _ int) []int64 {
		x := make([]int64, 64)
		for j := range x {
			x[j] = int64(t.Sensitivity / 2)
		}
		return t.withLocal(x)
	}
	dim := 64
	if control {
		dim = 65
		large = func(party, _ int) []int64 { return t.withLocal(make([]int64, dim)) }
	}
	var sizes []map[string]string
	for i, in := range []inputs{small, large} {
		rec, err := r.Lab.run(ctx, t, []int{64, dim}[i], staging{}, in)
		if err != nil {
			return out, err
		}
		v, err := rec.view(c, nil)
		if err != nil {
			return out, err
		}
		sizes = append(sizes, v.sizes())
	}
	differ, none := 0.0, 0.0
	for _, kind := range slices.Sorted(maps.Keys(sizes[0])) {
		if sizes[0][kind] != sizes[1][kind] {
			differ++
			out.Story = append(out.Story, fmt.Sprintf("%s: %s bytes, and %s", kind, sizes[0][kind], sizes[1][kind]))
		}
	}
	out.Measured, out.Claimed = &differ, &none
	out.Verdict = atMost(differ, 0, true)
	return out, nil
}

// sizes are the sizes of the victim's vectors and manifests, by topic.
func (v *View) sizes() map[string]string {
	all := map[string]map[int]bool{}
	for _, m := range v.messages {
		topic := strings.Split(strings.TrimPrefix(m.Subject, v.session.SubjectControl()), ".")
		if m.From != 0 || len(topic) < 3 {
			continue
		}
		kind := topic[2]
		if all[kind] == nil {
			all[kind] = map[int]bool{}
		}
		all[kind][len(m.Data)] = true
	}
	out := map[string]string{}
	for kind, set := range all {
		out[kind] = strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Sorted(maps.Keys(set))), " ", ", "), "[]")
	}
	return out
}
