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
	x := newIntake(t, 8, 100)
	var from uint32
	for share.ExplicitIndex(int(from), 1, intakeNodes) != 0 {
		from++
	}
	messages := x.contribution(from)
	x.take(from, messages)
	sum := slices.Clone(x.node.at.acc)
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
	if !slices.Equal(x.node.at.acc, sum) {
		t.Error("the sum moved")
	}
}

// TestAWholeContributionIsTakenOutAgain: of a party that isn't in the set, whose digests
// aren't in memory any more, every chunk comes out of the sum.
func TestAWholeContributionIsTakenOutAgain(t *testing.T) {
	x := newIntake(t, 8, 70_000) // two chunks
	for party := range uint32(4) {
		x.take(party, x.contribution(party))
	}
	if err := x.node.keepSet(); err != nil { // the set is empty
		t.Fatal(err)
	}
	if !slices.Equal(x.node.at.acc, make(field.Vector, len(x.node.at.acc))) {
		t.Error("something is left")
	}
}
