package compute

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// TestAllocationsDoNotDependOnTheRoster checks that receiving a contribution allocates the same with
// few parties as with thousands, and when few have contributed as when most have.
func TestAllocationsDoNotDependOnTheRoster(t *testing.T) {
	perParty := func(parties, already int) float64 {
		x := newRig(t, parties, 100)
		for i := range uint32(already) {
			x.receive(i, x.contribution(i))
		}
		const runs = 60
		var waiting [][][]byte
		for i := range runs + 1 {
			waiting = append(waiting, x.contribution(uint32(already+i)))
		}
		next := already
		return testing.AllocsPerRun(runs, func() {
			x.receive(uint32(next), waiting[next-already])
			next++
		})
	}
	few := perParty(70, 0)
	const parties = 4000
	for _, already := range []int{0, 3900} {
		if many := perParty(parties, already); many > few+4 { // maps grow now and then
			t.Errorf("%v allocations a contribution with %d of %d parties before it, %v with 70 parties",
				many, already, parties, few)
		}
	}
	if few > 50 { // measured: 39, and 43 under the race detector
		t.Errorf("%v allocations a contribution", few)
	}
}

// TestMemoryPerParty checks that a node keeps less than a kibibyte in memory for each party, its
// channel included, apart from the vector.
func TestMemoryPerParty(t *testing.T) {
	const parties = 4000
	x := newRig(t, parties, 100)
	x.node.keys = protocol.NewKeyring()
	x.node.keys.Advance(x.node.round)
	before := heap()
	for i := range uint32(parties) {
		x.node.keepChannel(i, 1, x.secret(i))
		x.receive(i, x.contribution(i))
		clear(x.Store) // the store does not count
	}
	if each := int(heap()-before) / parties; each > 1024 || each < 10 {
		t.Errorf("a node keeps %d bytes a party", each)
	}
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPendingSeedsAreInTheSum checks that the sum over a set is that of its shares, whether seeds
// were pending or added, and that shares outside of the set are subtracted.
func TestPendingSeedsAreInTheSum(t *testing.T) {
	const dim = 50
	for _, parties := range []int{5, maxPending + 40, 3*maxPending + 7} {
		x := newRig(t, parties, dim)
		want := make(field.Vector, dim)
		var set []protocol.Entry
		for i := range uint32(parties - 1) { // the last one stays away
			x.receive(i, x.contribution(i))
			if i%3 == 1 {
				continue // left out of the set
			}
			set = append(set, x.entry(i))
			if share.ExplicitIndex(int(i), 1, rigNodes) == 0 {
				want.Add(x.explicitOf(i))
				continue
			}
			mask, err := x.node.maskOf(i)
			if err != nil {
				t.Fatal(err)
			}
			mask.AddTo(want, 0)
		}
		x.node.eff = &protocol.Effects{}
		if err := x.node.restrict(set); err != nil {
			t.Fatal(err)
		}
		if !x.node.sum.Equal(want) || len(x.node.pending) != 0 {
			t.Errorf("%d parties: another sum", parties)
		}
	}
}

// BenchmarkIntake measures a contribution whose share the node derives, without the signatures of the
// node and the party; limit is the expansion alone.
func BenchmarkIntake(b *testing.B) {
	for _, dim := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("d=%d", dim), func(b *testing.B) {
			const batch = 300
			var seeds []uint32
			for i := uint32(0); len(seeds) < batch; i++ {
				if share.ExplicitIndex(int(i), 1, rigNodes) != 0 {
					seeds = append(seeds, i)
				}
			}
			messages := make([][][]byte, batch)
			x := newRig(b, 2*batch, dim)
			for i, p := range seeds {
				messages[i] = x.contribution(p)
			}
			b.SetBytes(int64(8 * dim))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; i == batch {
					b.StopTimer()
					x, i = newRig(b, 2*batch, dim), 0
					b.StartTimer()
				}
				x.receive(seeds[i], messages[i])
			}
		})
	}
	b.Run("limit", func(b *testing.B) {
		mask, err := newRig(b, 3, 10_000).node.maskOf(0)
		if err != nil {
			b.Fatal(err)
		}
		acc := make(field.Vector, 10_000)
		b.SetBytes(64 * 80_000)
		for b.Loop() {
			new(share.Adder).Add(acc, slices.Repeat([]*xof.Stream{mask}, 64)...)
		}
	})
}

// maskOf is a party's mask in the current attempt.
func (n *Node) maskOf(party uint32) (*xof.Stream, error) {
	return n.mask(party, &n.contributions[party], n.secret(party))
}
