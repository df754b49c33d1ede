package protocol

import (
	"fmt"
	"slices"
)

// Intersect returns the set that all nodes can sum: the entries that are in every held list
// with the same bundle digest. A party that sent different contributions to different nodes is
// not in it. The lists are in strictly increasing order of party, as the decoder checks, so
// one pass over all of them suffices.
func Intersect(holds []*Hold) []Entry {
	if len(holds) == 0 {
		return nil
	}
	var set []Entry
	at := make([]int, len(holds)) // the position in each list
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

// CheckSet rejects a set with an entry that is not of a party. The decoder checks the order.
func (s BoundPlan) CheckSet(set []Entry) error {
	for _, e := range set {
		if !s.Plan.Is(e.Party, RoleParty) {
			return fmt.Errorf("%w: set names member %d", ErrUnknown, e.Party)
		}
	}
	return nil
}

// Find returns a party's entry in a set.
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
