package mix

import (
	"fmt"
	"slices"

	"choir/protocol"
)

// count is the number of entries of a batch that is known.
func (a *attempt) count(stage int) int {
	if stage <= a.nodes {
		return len(a.batches[stage].Digests)
	}
	failed := 0
	for s := a.nodes + 1; s <= stage; s++ {
		failed += len(a.batches[s].Failed)
	}
	return a.count(a.nodes) - failed
}

func (a *attempt) addBatch(from uint32, m *protocol.MixBatch, now int64) error {
	stage := int(m.Stage)
	switch {
	case m.Stage > uint32(2*a.nodes) || a.owner(stage) != from:
		return fmt.Errorf("%w: batch %d is not %s's to make", protocol.ErrMismatch, m.Stage, a.s.Name(from))
	case !a.keysKnown() || stage > 0 && a.batches[stage-1] == nil:
		return fmt.Errorf("%w: batch %d before the one that it is made of", protocol.ErrEarly, stage)
	case stage > a.nodes && !a.agreed():
		return fmt.Errorf("%w: %s opens the list before all nodes agree", protocol.ErrEarly, a.s.Name(from))
	}
	if m.Before != a.before(stage) {
		return a.blameMakers(stage)
	}
	if reason := a.wrongBatch(stage, m); reason != "" {
		a.blame(from, reason)
		return fmt.Errorf("%w: batch %d: %s", protocol.ErrMismatch, stage, reason)
	}
	a.batches[stage] = m
	a.knownAt[stage] = now
	if stage == a.nodes {
		a.list = a.listDigest()
		for i := range m.Digests {
			a.alive = append(a.alive, i)
		}
	}
	if stage > a.nodes {
		a.alive = slices.DeleteFunc(a.alive, func(i int) bool {
			_, failed := slices.BinarySearch(m.Failed, uint32(i))
			return failed
		})
	}
	if n := a.count(stage); stage <= a.nodes && n < a.fewest() {
		a.blame(protocol.Everyone, fmt.Sprintf("batch %d has %d entries, fewer than the %d of N_min = %d parties",
			stage, n, a.fewest(), a.s.Plan.MinParties))
	}
	return nil
}

func (a *attempt) blame(suspect uint32, reason string) {
	if a.fault == nil {
		a.fault = &fault{suspect, reason}
	}
}

// before returns the digest of the description from which a batch is made, zero for batch 0. By it a batch is
// judged by the description that its maker had, also if that was signed in two versions.
func (a *attempt) before(stage int) protocol.Digest {
	if stage == 0 {
		return protocol.Digest{}
	}
	return a.seen[slot{kind: protocol.KindMixBatch, from: a.owner(stage - 1), stage: uint32(stage - 1)}]
}

// blameMakers ends the attempt because a batch is made from another description than the one known here.
func (a *attempt) blameMakers(stage int) error {
	maker, before := a.owner(stage), a.owner(max(stage-1, 0))
	f := fault{maker, fmt.Sprintf("batch %d is not made from batch %d as %s described it", stage, stage-1,
		a.s.Name(before))}
	if maker != before {
		f.suspect = protocol.Everyone
		f.reason += fmt.Sprintf(": %s lies, or %s described it twice", a.s.Name(maker), a.s.Name(before))
	}
	a.blame(f.suspect, f.reason)
	return fmt.Errorf("%w: %s", protocol.ErrMismatch, f.reason)
}

// wrongBatch returns why a description of a batch cannot be an honest node's, "" if it can.
func (a *attempt) wrongBatch(stage int, m *protocol.MixBatch) string {
	switch {
	case stage == 0:
		return a.wrongOnions(m)
	case len(m.Parties)+len(m.Entries) > 0:
		return "senders of a shuffled batch"
	case stage > a.nodes:
		if len(m.Digests)+len(m.Repeated) > 0 {
			return "digests of an opened batch"
		}
		for _, i := range m.Failed {
			if _, in := slices.BinarySearch(a.alive, int(i)); !in {
				return fmt.Sprintf("entry %d failed, which is not in the batch before", i)
			}
		}
		return ""
	}
	return wrongShuffle(m, a.count(stage-1))
}

// wrongOnions is wrongBatch of batch 0.
func (a *attempt) wrongOnions(m *protocol.MixBatch) string {
	if len(m.Parties) != len(m.Entries) {
		return fmt.Sprintf("numbers of entries of %d parties, for %d parties", len(m.Entries), len(m.Parties))
	}
	all := int64(0)
	for i, p := range m.Parties {
		n := int64(m.Entries[i])
		if !a.s.Plan.Is(p, protocol.RoleParty) || n < int64(a.least) || n > int64(a.most) {
			return fmt.Sprintf("%d onions of member %d", n, p)
		}
		all += n
	}
	if all != int64(len(m.Digests)) || len(m.Failed)+len(m.Repeated) > 0 {
		return fmt.Sprintf("%d onions of %d", len(m.Digests), all)
	}
	return ""
}

// wrongShuffle is wrongBatch of a batch that a node shuffled, given the number of entries that it got.
func wrongShuffle(m *protocol.MixBatch, before int) string {
	gone := map[uint32]bool{}
	for _, i := range slices.Concat(m.Failed, m.Repeated) {
		if gone[i] || int64(i) >= int64(before) {
			return fmt.Sprintf("entry %d is dropped twice or is none of %d", i, before)
		}
		gone[i] = true
	}
	if n := len(m.Digests) + len(gone); n != before {
		return fmt.Sprintf("it passes on or reports %d entries of %d", n, before)
	}
	seen := make(map[protocol.MixDigest]bool, len(m.Digests))
	for _, d := range m.Digests {
		if seen[d] {
			return "an entry is in it twice"
		}
		seen[d] = true
	}
	return ""
}
