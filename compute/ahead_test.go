package compute

import (
	"bytes"
	"testing"

	"choir/crypto/channel"
	"choir/protocol"
)

// agreeing is a node of 3 that has agreed with the others' lists on all parties but
// one, which it had taken in, over 5 chunks.
func agreeing(t *testing.T) *rig {
	const parties, dim = 5, 4*65536 + 9
	x := newRig(t, parties, dim)
	secret, err := channel.NewSecret(bytes.Repeat([]byte{9}, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	x.node.agg = &protocol.Link{Secret: secret}
	var entries []protocol.Entry
	for i := range uint32(parties) {
		x.take(i, x.contribution(i))
		entries = append(entries, protocol.Entry{Party: i, Bundle: x.node.contributions[i].bundle})
	}
	for k := range uint32(intakeNodes - 1) {
		x.step(protocol.Delivery{Data: x.sign(x.node.self+1+k, &protocol.Hold{Round: 1, Attempt: 1, Entries: entries[:parties-1]})})
	}
	if x.node.at.phase != agreed {
		t.Fatalf("the node is %s", x.node.at.phase)
	}
	return x
}

// TestSealedAhead: however many steps a node has between its own agree and the last of
// the others', it reveals the same bytes; what is sealed ahead is what is then stored;
// and while there is more to seal it doesn't sleep.
func TestSealedAhead(t *testing.T) {
	var want []protocol.Outgoing
	for ticks := range 6 {
		x := agreeing(t)
		ahead := map[*byte]bool{}
		for range ticks {
			eff := x.step(protocol.Tick{})
			for _, b := range eff.Ahead {
				ahead[&b[0]] = true
			}
			if len(eff.Send)+len(eff.Persist) > 0 {
				t.Fatalf("a node that waits for agrees sends %d messages and stores %d records", len(eff.Send), len(eff.Persist))
			}
			if more := x.node.at.out == nil || len(x.node.at.out.chunks) < x.s.Chunks(); more != (eff.Wake == x.now) {
				t.Fatalf("%d ticks: there is more to seal: %t, and it wakes in %d ms", ticks, more, eff.Wake-x.now)
			}
		}
		if most := min(x.s.Chunks(), chunksAhead*max(0, ticks-1)); len(ahead) != most {
			t.Errorf("%d chunks are sealed after %d ticks, not %d", len(ahead), ticks, most)
		}
		own := x.node.at.agrees[x.node.self]
		for k := range uint32(intakeNodes - 2) {
			x.step(protocol.Delivery{Data: x.sign(x.node.self+1+k, own)})
		}
		eff := x.step(protocol.Delivery{Data: x.sign(x.node.self+2, own)})
		for _, r := range eff.Persist {
			if len(r.Value) > 0 {
				delete(ahead, &r.Value[0])
			}
		}
		if x.node.at.phase != revealed || len(ahead) != 0 || len(eff.Send) != 1+x.s.Chunks() {
			t.Fatalf("the node is %s, sends %d messages, and %d sealed chunks aren't stored", x.node.at.phase, len(eff.Send), len(ahead))
		}
		if want == nil {
			want = eff.Send
		}
		for i, o := range eff.Send {
			if o.Subject != want[i].Subject || !bytes.Equal(o.Data, want[i].Data) {
				t.Errorf("with %d steps ahead, message %d is another one", ticks, i)
			}
		}
	}
}

// TestSealedForNobody: what was sealed ahead stays when the others signed another set.
func TestSealedForNobody(t *testing.T) {
	x := agreeing(t)
	for range 4 {
		x.step(protocol.Tick{})
	}
	other := *x.node.at.agrees[x.node.self]
	other.Set[0] ^= 1
	for k := range uint32(intakeNodes - 1) {
		for _, o := range x.step(protocol.Delivery{Data: x.sign(x.node.self+1+k, &other)}).Send {
			t.Errorf("a message of %d bytes leaves on %s", len(o.Data), o.Subject)
		}
	}
	if x.node.at.phase != void || x.node.at.out != nil {
		t.Errorf("the node is %s, with %v sealed", x.node.at.phase, x.node.at.out != nil)
	}
}
