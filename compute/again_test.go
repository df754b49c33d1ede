package compute

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/protocol"
)

// TestChunksOfACompleteContribution checks the chunks that arrive after a contribution is complete:
// a duplicate is dropped, another one that the party sealed is equivocation, and one that it did
// not seal is refused. None changes the sum.
func TestChunksOfACompleteContribution(t *testing.T) {
	x := newRig(t, 8, 100)
	from := x.explicitParty()
	messages := x.contribution(from)
	x.receive(from, messages)
	sum := slices.Clone(x.node.sum)
	other, _ := x.sealChunk(from, 0, func(plain []byte) { clear(plain); plain[0] = 1 })
	forged := slices.Clone(other)
	forged[len(forged)-1] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{name: "the same", data: messages[0]},
		{name: "another", data: other, want: protocol.ErrEquivocate},
		{name: "a forged one", data: forged, want: protocol.ErrSealed},
	} {
		t.Run(c.name, func(t *testing.T) {
			eff := x.deliver(c.data)
			var got error
			if len(eff.Notices) > 0 {
				got = eff.Notices[0].Err
			}
			if !errors.Is(got, c.want) || len(eff.Persist) > 0 || len(eff.Send) > 0 {
				t.Errorf("error %v, %d records, %d messages", got, len(eff.Persist), len(eff.Send))
			}
		})
	}
	clear(x.Store)
	if eff := x.deliver(other); len(eff.Notices) > 0 {
		t.Errorf("without a stored chunk to compare with: %v", eff.Notices[0].Err)
	}
	if !slices.Equal(x.node.sum, sum) {
		t.Error("the sum has changed")
	}
}

// TestCompleteContributionIsSubtracted checks that every chunk of a party outside of the set is
// subtracted from the sum, though its digests are not in memory any more.
func TestCompleteContributionIsSubtracted(t *testing.T) {
	x := newRig(t, 8, 70_000) // two chunks
	for party := range uint32(4) {
		x.receive(party, x.contribution(party))
	}
	if err := x.node.restrict(nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.node.sum, make(field.Vector, len(x.node.sum))) {
		t.Error("the sum of the empty set is not zero")
	}
}

// TestContradictionIsSubtracted checks a party that signed another explicit share than it sent, in
// any order of its messages: none of it stays in the sum or in the store, and its later messages
// are not stored.
func TestContradictionIsSubtracted(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			x := newRig(t, 8, 70_000) // two chunks and the head
			from := x.explicitParty()
			messages := x.contribution(from)
			messages[2] = x.head(from, &protocol.Contribution{
				Round: 1, Attempt: 1, Vector: protocol.ChunkList([]protocol.Digest{{1}, {2}}),
			})
			stored := 0
			var last protocol.Effects
			for _, i := range order {
				last = x.deliver(messages[i])
				stored = max(stored, len(x.Store.Keys("share/")))
			}
			if len(last.Notices) != 1 || !errors.Is(last.Notices[0].Err, protocol.ErrMismatch) {
				t.Fatalf("%+v", last.Notices)
			}
			if left := x.Store.Keys("share/"); stored == 0 || len(left) > 0 {
				t.Errorf("%d chunks were stored, %q stay", stored, left)
			}
			for _, b := range append(messages, x.contribution(from)...) {
				if eff := x.deliver(b); len(eff.Persist) > 0 || len(eff.Send) > 0 {
					t.Error("a later message was accepted")
				}
			}
			if !slices.Equal(x.node.sum, make(field.Vector, len(x.node.sum))) || x.node.count != 0 {
				t.Error("a part of it stays in the sum")
			}
		})
	}
}

// TestTwoChunksWithOneIndex checks that the second of two different chunks with one index is
// equivocation, and that the first counts.
func TestTwoChunksWithOneIndex(t *testing.T) {
	x := newRig(t, 8, 70_000)
	from := x.explicitParty()
	messages := x.contribution(from)
	x.deliver(messages[1])
	other, _ := x.sealChunk(from, 1, func(plain []byte) { clear(plain) })
	eff := x.deliver(other)
	if len(eff.Notices) != 1 || !errors.Is(eff.Notices[0].Err, protocol.ErrEquivocate) || len(eff.Persist) > 0 {
		t.Errorf("%+v", eff.Notices)
	}
	x.receive(from, [][]byte{messages[0], messages[2]})
	if !slices.Equal(x.node.sum, x.explicitOf(from)) {
		t.Error("another sum")
	}
}

// TestReachIsOfTheSameContributions checks that another node's list is reached as far as this node
// has the contributions that it names, and that another bundle of the same party does not count.
func TestReachIsOfTheSameContributions(t *testing.T) {
	x := newRig(t, 8, 100)
	var entries []protocol.Entry
	for party := range uint32(3) {
		x.receive(party, x.contribution(party))
		entries = append(entries, x.entry(party))
	}
	for want := range entries {
		other := slices.Clone(entries)
		other[want].Bundle[5] ^= 1
		if got := x.node.reach(other); got != want {
			t.Errorf("entry %d is of another bundle: %d are reached", want, got)
		}
	}
	more := append(entries, protocol.Entry{Party: 5}, protocol.Entry{Party: 1000})
	if got := x.node.reach(more); got != len(entries) {
		t.Errorf("%d of %d are reached", got, len(entries))
	}
}
