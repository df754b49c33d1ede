package compute

import (
	"errors"
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/crypto/share"
	"choir/protocol"
)

// TestChunksOfAWholeContribution: once a contribution is whole, its chunks are compared with
// those on disk. The same one says nothing, another one that the party sealed is a
// contradiction, one that nobody sealed is refused, and none of them touches the sum.
func TestChunksOfAWholeContribution(t *testing.T) {
	x := newRig(t, 8, 100)
	var from uint32
	for share.ExplicitIndex(int(from), 1, intakeNodes) != 0 {
		from++
	}
	messages := x.contribution(from)
	x.take(from, messages)
	sum := slices.Clone(x.node.sum)
	sealer, err := x.s.Sealer(x.secret(from, 0), x.node.context(from))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := sealer.Seal(0, func(plain []byte) { clear(plain); plain[0] = 1 })
	forged := slices.Clone(other)
	forged[len(forged)-1] ^= 1
	for _, c := range []struct {
		what string
		data []byte
		want error
	}{{"the same", messages[0], nil}, {"another", other, protocol.ErrEquivocate}, {"a forged one", forged, protocol.ErrSealed}} {
		eff := x.step(protocol.Delivery{Data: c.data})
		var got error
		if len(eff.Notices) > 0 {
			got = eff.Notices[0].Err
		}
		if !errors.Is(got, c.want) || len(eff.Persist) > 0 || len(eff.Send) > 0 {
			t.Errorf("%s: %v, %d records, %d messages", c.what, got, len(eff.Persist), len(eff.Send))
		}
	}
	clear(x.store)
	if eff := x.step(protocol.Delivery{Data: other}); len(eff.Notices) > 0 {
		t.Errorf("with nothing to compare it with: %v", eff.Notices[0].Err)
	}
	if !slices.Equal(x.node.sum, sum) {
		t.Error("the sum moved")
	}
}

// TestAWholeContributionIsTakenOutAgain: of a party that isn't in the set, whose digests
// aren't in memory any more, every chunk comes out of the sum.
func TestAWholeContributionIsTakenOutAgain(t *testing.T) {
	x := newRig(t, 8, 70_000) // two chunks
	for party := range uint32(4) {
		x.take(party, x.contribution(party))
	}
	if err := x.node.restrict(nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.node.sum, make(field.Vector, len(x.node.sum))) {
		t.Error("something is left")
	}
}

// TestContradictionsAreTakenOut: of a party that signed another explicit share than it sent, in
// whichever order the two came, nothing stays in the sum or on disk, and nothing that it
// sends afterwards gets there. One that sends two chunks for one place is told so, and the first
// counts.
func TestContradictionsAreTakenOut(t *testing.T) {
	var from uint32
	for share.ExplicitIndex(int(from), 1, intakeNodes) != 0 {
		from++
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		x := newRig(t, 8, 70_000) // two chunks and the head
		messages := x.contribution(from)
		messages[2] = x.lying(from)
		var last protocol.Effects
		for _, i := range order {
			last = x.step(protocol.Delivery{Data: messages[i]})
		}
		if len(last.Notices) != 1 || !errors.Is(last.Notices[0].Err, protocol.ErrMismatch) {
			t.Fatalf("%v: %+v", order, last.Notices)
		}
		for i := range uint32(2) {
			if b, ok := x.store[x.node.shareKey(from, i)]; !ok || b != nil {
				t.Errorf("%v: chunk %d stays on disk", order, i)
			}
		}
		for _, b := range append(messages, x.contribution(from)...) {
			if eff := x.step(protocol.Delivery{Data: b}); len(eff.Persist) > 0 || len(eff.Send) > 0 {
				t.Errorf("%v: more of it was taken in", order)
			}
		}
		if !slices.Equal(x.node.sum, make(field.Vector, len(x.node.sum))) || x.node.count != 0 {
			t.Errorf("%v: something is left", order)
		}
	}
}

// TestTwoChunksForOnePlace of a contribution that isn't whole.
func TestTwoChunksForOnePlace(t *testing.T) {
	x := newRig(t, 8, 70_000)
	var from uint32
	for share.ExplicitIndex(int(from), 1, intakeNodes) != 0 {
		from++
	}
	messages := x.contribution(from)
	x.step(protocol.Delivery{Data: messages[1]})
	sealer, err := x.s.Sealer(x.secret(from, 0), x.node.context(from))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := sealer.Seal(1, func(plain []byte) { clear(plain) })
	eff := x.step(protocol.Delivery{Data: other})
	if len(eff.Notices) != 1 || !errors.Is(eff.Notices[0].Err, protocol.ErrEquivocate) || len(eff.Persist) > 0 {
		t.Errorf("%+v", eff.Notices)
	}
	x.take(from, [][]byte{messages[0], messages[2]})
	if !slices.Equal(x.node.sum, x.explicitOf(from)) {
		t.Error("the sum is another one")
	}
}

// lying is a contribution's head that names another explicit share than the party's.
func (x *rig) lying(party uint32) []byte {
	ctx := x.node.context(party)
	m := &protocol.Contribution{Round: 1, Attempt: 1, Vector: protocol.ChunkList([]protocol.Digest{{1}, {2}}), Confirm: make([][16]byte, intakeNodes)}
	account, err := m.ManifestDigest(x.s, party)
	if err != nil {
		x.tb.Fatal(err)
	}
	m.Confirm[0] = x.s.Confirm(x.secret(party, 0), ctx, account)
	return x.sign(party, m)
}

// TestReachIsOfTheSameContributions: another node's list goes as far as it names what this node
// holds, and not what another bundle of the same party would be.
func TestReachIsOfTheSameContributions(t *testing.T) {
	x := newRig(t, 8, 100)
	var entries []protocol.Entry
	for party := range uint32(3) {
		x.take(party, x.contribution(party))
		entries = append(entries, protocol.Entry{Party: party, Bundle: x.node.contributions[party].bundle})
	}
	for want := range entries {
		other := slices.Clone(entries)
		other[want].Bundle[5] ^= 1
		if got := x.node.reach(other); got != want {
			t.Errorf("the entry %d is of another bundle: %d are reached", want, got)
		}
	}
	if got := x.node.reach(append(entries, protocol.Entry{Party: 5}, protocol.Entry{Party: 1000})); got != len(entries) {
		t.Errorf("%d of %d are reached", got, len(entries))
	}
}
