package protocol

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// holdSets generates lists over few parties and few digests, so that they often agree and differ
// in every way.
func holdSets(nodes int) *rapid.Generator[[]*Hold] {
	return rapid.Custom(func(t *rapid.T) []*Hold {
		holds := make([]*Hold, nodes)
		for k := range holds {
			holds[k] = &Hold{Round: 1, Attempt: 1}
			for p := range uint32(5) {
				if d := rapid.ByteRange(0, 3).Draw(t, "digest"); d > 0 {
					holds[k].Entries = append(holds[k].Entries, Entry{p, testDigest(d)})
				}
			}
		}
		return holds
	})
}

// TestIntersect compares Intersect with its definition, the entries in every list.
func TestIntersect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds := holdSets(rapid.IntRange(1, 4).Draw(t, "nodes")).Draw(t, "holds")
		got := Intersect(holds)
		for p := range uint32(5) {
			for d := byte(1); d <= 3; d++ {
				e := Entry{p, testDigest(d)}
				all := true
				for _, h := range holds {
					all = all && slices.Contains(h.Entries, e)
				}
				if all != slices.Contains(got, e) {
					t.Fatalf("party %d, digest %d: in every list %t", p, d, all)
				}
			}
		}
		if !slices.IsSortedFunc(got, func(a, b Entry) int { return int(a.Party) - int(b.Party) }) {
			t.Fatal("out of order")
		}
		slices.Reverse(holds)
		if !slices.Equal(Intersect(holds), got) {
			t.Fatal("the order of the nodes matters")
		}
	})
	for size := range 4 {
		list := &Hold{}
		for p := range uint32(3) {
			list.Entries = append(list.Entries, Entry{p, testDigest(1)})
		}
		short := &Hold{Entries: list.Entries[:size]}
		if got := Intersect([]*Hold{list, short}); !slices.Equal(got, short.Entries) {
			t.Errorf("a list of 3 and its first %d intersect in %v", size, got)
		}
	}
	if Intersect(nil) != nil {
		t.Error("an intersection of nothing")
	}
}

func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := entrySets().Draw(t, "set")
		party := rapid.Uint32().Draw(t, "party")
		if len(set) > 0 && rapid.Bool().Draw(t, "present") {
			party = rapid.SampledFrom(set).Draw(t, "of the set").Party
		}
		i := slices.IndexFunc(set, func(e Entry) bool { return e.Party == party })
		e, ok := Find(set, party)
		if ok != (i >= 0) || (ok && e != set[i]) {
			t.Fatalf("party %d: %v, %t; want index %d", party, e, ok, i)
		}
	})
}

func TestCheckSet(t *testing.T) {
	s := testSession(t)
	for party := range uint32(8) {
		err := s.CheckSet([]Entry{{0, Digest{}}, {party, Digest{}}})
		if (err == nil) != (party < 3) || (err != nil && !errors.Is(err, ErrUnknown)) {
			t.Errorf("member %d: %v", party, err)
		}
	}
	if s.CheckSet(nil) != nil {
		t.Error("the empty set is rejected")
	}
}

// TestSetDigest: the digest depends on all that identifies a set.
func TestSetDigest(t *testing.T) {
	s := testSession(t)
	other := s
	other.ID[0]++
	set := []Entry{{0, testDigest(1)}, {1, testDigest(2)}}
	digests := []Digest{SetDigest(s, 1, 1, set), SetDigest(s, 2, 1, set), SetDigest(s, 1, 2, set),
		SetDigest(other, 1, 1, set),
		SetDigest(s, 1, 1, set[:1]), SetDigest(s, 1, 1, nil), SetDigest(s, 1, 1,
			[]Entry{{0, testDigest(1)}, {2, testDigest(2)}}),
		SetDigest(s, 1, 1, []Entry{{0, testDigest(1)}, {1, testDigest(3)}})}
	for i := range digests {
		if slices.Index(digests, digests[i]) != i {
			t.Errorf("digest %d is that of two sets", i)
		}
	}
}

func TestCheckSum(t *testing.T) {
	for _, row := range []struct {
		x  int64
		ok bool
	}{
		{x: 0, ok: true},
		{x: 10, ok: true},
		{x: -10, ok: true},
		{x: 11, ok: false},
		{x: -11, ok: false},
		{x: 1<<63 - 1, ok: false},
		{x: -1 << 63, ok: false},
	} {
		t.Run(fmt.Sprint(row.x), func(t *testing.T) {
			err := checkSum([]int64{0, row.x}, SumLimit{10, math.MaxUint64})
			if (err == nil) != row.ok || (err != nil && !errors.Is(err, ErrMismatch)) {
				t.Error(err)
			}
		})
	}
}

// TestSumsNorm checks the bound on the norm of a sum: a party that stays below the bound of every coordinate
// is rejected once it moves the sum further than all parties and their noise may.
func TestSumsNorm(t *testing.T) {
	p := testPlan()
	p.Noise, p.Variance, p.Dim, p.PerParty = NoiseParty, 1<<20, 10_000, 1<<16
	limit, err := p.MaxSum()
	if err != nil {
		t.Fatal(err)
	}
	coordinates, norm, err := p.Reach()
	if err != nil || norm > coordinates/10 || norm < 1 {
		t.Errorf("a party's reach is %g updates, %g by coordinates; %v", norm, coordinates, err)
	}
	for name, row := range map[string]struct {
		each int64
		ok   bool
	}{
		"nothing":             {0, true},
		"the norm's limit":    {int64(limit.Norm) / 100, true}, // 100 coordinates to the unit of norm
		"beyond the norm":     {int64(limit.Norm)/100 + 1, false},
		"within coordinates'": {int64(limit.Coordinate), false},
	} {
		t.Run(name, func(t *testing.T) {
			sum := slices.Repeat([]int64{row.each}, 10_000)
			if _, err := p.OpenSum(sum, limit); (err == nil) != row.ok || err != nil && !errors.Is(err, ErrMismatch) {
				t.Error(err)
			}
		})
	}
}
