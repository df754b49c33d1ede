package compute

import (
	"bytes"
	"fmt"
	"testing"

	"choir/protocol"
)

// newAgreed returns a node of 3 that has agreed on all parties but one, whose contribution it has,
// over 5 chunks.
func newAgreed(t *testing.T) *rig {
	t.Helper()
	const parties, dim = 5, 4*65536 + 9
	x := newRig(t, parties, dim)
	x.node.agg = []byte{1}
	x.node.keys.Add(x.Session.Plan.Aggregator(), 1, x.Secret(x.Node(0), x.Session.Plan.Aggregator()))
	var entries []protocol.Entry
	for i := range uint32(parties) {
		x.receive(i, x.contribution(i))
		entries = append(entries, x.entry(i))
	}
	list := &protocol.Hold{Round: 1, Attempt: 1, Entries: entries[:parties-1]}
	x.deliver(x.Sign(x.Node(1), list))
	x.deliver(x.Sign(x.Node(2), list))
	if x.node.at.phase != agreed {
		t.Fatalf("the node is %s", x.node.at.phase)
	}
	return x
}

// sealAhead steps the node while it waits for agrees, and returns the chunks sealed ahead by
// address. It checks that the node asks for another step as long as chunks are left.
func (x *rig) sealAhead(ticks int) map[*byte]bool {
	x.TB.Helper()
	ahead := map[*byte]bool{}
	for range ticks {
		eff := x.step(protocol.Tick{})
		for _, b := range eff.Ahead {
			ahead[&b[0]] = true
		}
		if len(eff.Send)+len(eff.Persist) > 0 {
			x.TB.Fatalf("a node that waits for agrees sends %d messages and stores %d records",
				len(eff.Send), len(eff.Persist))
		}
		out := x.node.at.out
		if more := out == nil || len(out.chunks) < x.Session.Chunks(); more != (eff.Wake == x.Now) {
			x.TB.Fatalf("chunks are left: %t, and it wakes in %d ms", more, eff.Wake-x.Now)
		}
	}
	return ahead
}

// TestSealedAhead checks that a node reveals the same bytes however many steps it has between its
// own agree and the last of the others', and that the chunks sealed ahead are those stored.
func TestSealedAhead(t *testing.T) {
	var want []protocol.Outgoing
	for ticks := range 6 {
		x := newAgreed(t)
		ahead := x.sealAhead(ticks)
		if most := min(x.Session.Chunks(), chunksAhead*max(0, ticks-1)); len(ahead) != most {
			t.Errorf("%d chunks are sealed after %d ticks, want %d", len(ahead), ticks, most)
		}
		own := x.node.at.agrees[x.node.self]
		x.deliver(x.Sign(x.Node(1), own))
		eff := x.deliver(x.Sign(x.Node(2), own))
		for _, r := range eff.Persist {
			if len(r.Value) > 0 {
				delete(ahead, &r.Value[0])
			}
		}
		if x.node.at.phase != revealed || len(ahead) != 0 || len(eff.Send) != 1+x.Session.Chunks() {
			t.Fatalf("the node is %s and sends %d messages; %d sealed chunks are not stored",
				x.node.at.phase, len(eff.Send), len(ahead))
		}
		if want == nil {
			want = eff.Send
		}
		t.Run(fmt.Sprintf("%d ticks", ticks), func(t *testing.T) {
			for i, o := range eff.Send {
				if o.Subject != want[i].Subject || !bytes.Equal(o.Data, want[i].Data) {
					t.Errorf("message %d differs", i)
				}
			}
		})
	}
}

// TestSealedForAnotherSet checks that nothing sealed ahead leaves when the other nodes signed
// another set.
func TestSealedForAnotherSet(t *testing.T) {
	x := newAgreed(t)
	x.sealAhead(4)
	other := *x.node.at.agrees[x.node.self]
	other.Set[0] ^= 1
	for k := 1; k < rigNodes; k++ {
		for _, o := range x.deliver(x.Sign(x.Node(k), &other)).Send {
			t.Errorf("a message of %d bytes leaves on %s", len(o.Data), o.Subject)
		}
	}
	if x.node.at.phase != void || x.node.at.out != nil {
		t.Errorf("the node is %s, with sealed chunks: %t", x.node.at.phase, x.node.at.out != nil)
	}
}
