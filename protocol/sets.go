package protocol

import (
	"fmt"
	"slices"
)

// Intersect is the set that all nodes can sum: the entries, party and bundle
// digest alike, that stand in every hold. A party that sent different bundles
// to different nodes falls out. Each list is in strictly increasing order of party,
// as the decoder demands, so that one walk over all of them finds it.
func Intersect(holds []*Hold) []Entry {
	if len(holds) == 0 {
		return nil
	}
	var set []Entry
	at := make([]int, len(holds)) // where each list has come to
	for _, e := range holds[0].Entries {
		everywhere := true
		for k, h := range holds {
			for at[k] < len(h.Entries) && h.Entries[at[k]].Party < e.Party {
				at[k]++
			}
			everywhere = everywhere && at[k] < len(h.Entries) && h.Entries[at[k]] == e
		}
		if everywhere {
			set = append(set, e)
		}
	}
	return set
}

// CheckSet refuses a set that names anyone but enrolled parties. The order is
// already the decoder's to check.
func (s BoundPlan) CheckSet(set []Entry) error {
	for _, e := range set {
		if !s.Plan.Is(e.Party, RoleParty) {
			return fmt.Errorf("%w: set names member %d", ErrUnknown, e.Party)
		}
	}
	return nil
}

// Find looks a party up in a set.
func Find(set []Entry, party uint32) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(set, party, func(e Entry, p uint32) int {
		switch {
		case e.Party < p:
			return -1
		case e.Party > p:
			return 1
		}
		return 0
	})
	if !ok {
		return Entry{}, false
	}
	return set[i], true
}
