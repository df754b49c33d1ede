package mix

import (
	"encoding/binary"
	"fmt"
	"slices"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/protocol"
)

// attempt is what a member knows of an attempt. It is a function of the accepted messages, its own
// among them, so that a store needs nothing else of it.
type attempt struct {
	shuffleKeys
	s       protocol.BoundPlan
	since   int64                    // when it began or resumed, ms
	seen    map[slot]protocol.Digest // of the accepted messages
	missing int                      // nodes whose keys are not known
	onions  map[uint32]*bundle
	arrived int                  // parties whose onions are all there
	batches []*protocol.MixBatch // 0..2M; nil: not known
	pieces  []map[uint32][]byte  // by batch
	checked map[int][][]byte     // the entries of batches that were found right
	list    protocol.Digest      // names batch M
	knownAt []int64              // when each batch became known, or the member resumed
	alive   []int                // positions of the list that have opened up to now
	gos     map[uint32]bool
	agrees  map[uint32]*protocol.MixAgree
	others  map[uint32]bool // nodes that agree to another list
	result  *protocol.MixResult
	fault   *fault
}

// slot is what a member may send once in an attempt.
type slot struct {
	kind         protocol.Kind
	from         uint32
	stage, index uint32
}

// fault is why an attempt cannot go on.
type fault struct {
	suspect uint32 // Everyone if no member is suspected
	reason  string
}

func newAttempt(s protocol.BoundPlan, m *protocol.MixRound, now int64) *attempt {
	nodes := s.Plan.Computes()
	a := &attempt{s: s, since: now, seen: map[slot]protocol.Digest{}, missing: nodes,
		onions:  map[uint32]*bundle{},
		batches: make([]*protocol.MixBatch, 2*nodes+1), pieces: make([]map[uint32][]byte, 2*nodes+1),
		checked: map[int][][]byte{}, gos: map[uint32]bool{}, agrees: map[uint32]*protocol.MixAgree{},
		others: map[uint32]bool{}}
	a.knownAt = make([]int64, 2*nodes+1)
	a.shuffleKeys = shuffleKeys{geometry: geometryOf(s.Plan), plan: s.ID, round: m.Round, attempt: m.Attempt,
		outer: make([][]byte, nodes), inner: make([][]byte, nodes), reports: m.Public}
	for i := range a.pieces {
		a.pieces[i] = map[uint32][]byte{}
	}
	return a
}

// place returns where a message belongs: its attempt and its slot.
func place(from uint32, m protocol.Message) (round, number uint32, sl slot, ok bool) {
	switch m := m.(type) {
	case *protocol.MixRound:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixRound, from: from}, true
	case *protocol.MixKeys:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixKeys, from: from}, true
	case *protocol.Onion:
		return m.Round, m.Attempt, slot{kind: protocol.KindOnion, from: from, index: m.Index}, true
	case *protocol.MixBatch:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixBatch, from: from, stage: m.Stage}, true
	case *protocol.MixPiece:
		return m.Round, m.Attempt,
			slot{kind: protocol.KindMixPiece, from: from, stage: m.Stage, index: m.Index}, true
	case *protocol.MixGo:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixGo, from: from}, true
	case *protocol.MixAgree:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixAgree, from: from}, true
	case *protocol.MixComplaint:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixComplaint, from: from}, true
	case *protocol.MixResult:
		return m.Round, m.Attempt, slot{kind: protocol.KindMixResult, from: from}, true
	}
	return 0, 0, slot{}, false
}

// accept adds a message of this attempt whose signature is valid. A message that proves a fault is
// recorded as such, and its error is returned.
func (a *attempt) accept(from uint32, m protocol.Message, data []byte, now int64) error {
	_, _, sl, ok := place(from, m)
	if !ok {
		return fmt.Errorf("%w: it is not a message of the mix-net", protocol.ErrMismatch)
	}
	d := blake.Derive(entryContext, data)
	if known, ok := a.seen[sl]; ok {
		if known == d {
			return protocol.ErrDuplicate
		}
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEquivocate, a.round, a.attempt)
	}
	if err := a.add(from, m, now); err != nil {
		return err
	}
	a.seen[sl] = d
	return nil
}

func (a *attempt) add(from uint32, m protocol.Message, now int64) error {
	switch m := m.(type) {
	case *protocol.MixKeys:
		return a.addKeys(from, m)
	case *protocol.Onion:
		return a.addOnion(from, m)
	case *protocol.MixBatch:
		return a.addBatch(from, m, now)
	case *protocol.MixPiece:
		return a.addPiece(from, m)
	case *protocol.MixGo:
		return a.addGo(from, m)
	case *protocol.MixAgree:
		return a.addAgree(from, m)
	case *protocol.MixComplaint:
		return a.addComplaint(from, m)
	case *protocol.MixResult:
		return a.addResult(m)
	}
	return nil
}

// name is a member's name for people.
func (a *attempt) name(member uint32) string {
	if member == protocol.Everyone {
		return "no member"
	}
	return a.s.Name(member)
}

// number is a compute node's number, 1..M.
func (a *attempt) number(node uint32) int { return int(node-a.s.Plan.Compute(0)) + 1 }

// owner is the member index of the node that makes a batch.
func (a *attempt) owner(stage int) uint32 {
	switch {
	case stage == 0:
		return a.s.Plan.Compute(0)
	case stage > a.nodes:
		stage -= a.nodes
	}
	return a.s.Plan.Compute(stage - 1)
}

func (a *attempt) keysKnown() bool { return a.missing == 0 }

// addKeys checks the keys by making a channel to each.
func (a *attempt) addKeys(from uint32, m *protocol.MixKeys) error {
	for _, key := range [][]byte{m.Outer, m.Inner} {
		if _, _, err := channel.Initiate(a.suite, key, nil); err != nil {
			return fmt.Errorf("%w: %w", protocol.ErrMalformed, err)
		}
	}
	k := a.number(from)
	a.outer[k-1] = m.Outer
	a.inner[k-1] = m.Inner
	if a.missing--; a.missing == 0 {
		a.bind()
	}
	return nil
}

func (a *attempt) addOnion(from uint32, m *protocol.Onion) error {
	switch {
	case a.batches[0] != nil:
		return fmt.Errorf("%w: the batch is closed", protocol.ErrStale)
	case !a.keysKnown():
		return fmt.Errorf("%w: an onion before all keys are known", protocol.ErrEarly)
	case m.Keys != a.digest:
		return fmt.Errorf("%w: an onion for other keys than the nodes signed", protocol.ErrMismatch)
	case int64(m.Entries) < int64(a.least) || int64(m.Entries) > int64(a.most):
		return fmt.Errorf("%w: %d onions are not in %d..%d", protocol.ErrMismatch, m.Entries, a.least, a.most)
	}
	b := a.onions[from]
	if b == nil {
		b = &bundle{entries: int(m.Entries), pieces: map[uint32][]byte{}}
	}
	n := int(m.Entries) - int(m.Index)*a.perPiece(0) // from this message on
	want := a.size(0) * min(n, a.perPiece(0))
	switch {
	case int(m.Entries) != b.entries:
		return fmt.Errorf("%w: %d onions, and %d before", protocol.ErrMismatch, m.Entries, b.entries)
	case int64(m.Index) >= int64(a.geometry.pieces(0, b.entries)) || len(m.Sealed) != want:
		return fmt.Errorf("%w: onions of %d bytes, not %d", protocol.ErrMalformed, len(m.Sealed), want)
	}
	b.pieces[m.Index] = m.Sealed
	a.onions[from] = b
	if len(b.pieces) == a.geometry.pieces(0, b.entries) {
		a.arrived++
	}
	return nil
}

// bundle is the onions of a party.
type bundle struct {
	entries int
	pieces  map[uint32][]byte // by message
}

// senders returns the parties whose onions are all there, in increasing order.
func (a *attempt) senders() (parties []uint32) {
	for p, b := range a.onions {
		if len(b.pieces) == a.geometry.pieces(0, b.entries) {
			parties = append(parties, p)
		}
	}
	slices.Sort(parties)
	return parties
}

// received returns the onions of the parties in order.
func (a *attempt) received(parties []uint32) (onions [][]byte) {
	for _, p := range parties {
		b := a.onions[p]
		for i := range uint32(len(b.pieces)) {
			onions = append(onions, slices.Collect(slices.Chunk(b.pieces[i], a.size(0)))...)
		}
	}
	return onions
}

// origins returns the party that sent each entry of batch 0.
func (a *attempt) origins() (senders []uint32) {
	for i, p := range a.batches[0].Parties {
		senders = append(senders, slices.Repeat([]uint32{p}, int(a.batches[0].Entries[i]))...)
	}
	return senders
}

// fewest is the smallest number of entries of a batch before the list is opened.
func (a *attempt) fewest() int { return int(a.s.Plan.MinParties) * a.least }

// listDigest names the list, by its content and what the parties see of it.
func (a *attempt) listDigest() protocol.Digest {
	m := a.batches[a.nodes]
	h := blake.NewHash(listContext)
	h.Write(a.plan[:])
	b := binary.BigEndian.AppendUint32(nil, a.round)
	h.Write(binary.BigEndian.AppendUint32(b, a.attempt))
	h.Write(m.Content[:])
	for _, d := range m.Digests {
		h.Write(d[:])
	}
	return h.Sum()
}

func (a *attempt) addPiece(from uint32, m *protocol.MixPiece) error {
	stage := int(m.Stage)
	switch {
	case m.Stage < 1 || m.Stage > uint32(2*a.nodes) || a.owner(stage) != from:
		return fmt.Errorf("%w: batch %d is not %s's to make", protocol.ErrMismatch, m.Stage, a.s.Name(from))
	case a.batches[stage] == nil:
		return fmt.Errorf("%w: a piece of batch %d before its description", protocol.ErrEarly, stage)
	case int64(m.Index) >= int64(a.geometry.pieces(stage, a.count(stage))):
		return fmt.Errorf("%w: piece %d of batch %d", protocol.ErrMalformed, m.Index, stage)
	}
	a.pieces[stage][m.Index] = m.Entries
	return nil
}

func (a *attempt) addGo(from uint32, m *protocol.MixGo) error {
	if a.batches[a.nodes] == nil {
		return fmt.Errorf("%w: no list is known", protocol.ErrEarly)
	}
	if m.List != a.list {
		return fmt.Errorf("%w: %s knows another list", protocol.ErrMismatch, a.s.Name(from))
	}
	if _, in := slices.BinarySearch(a.batches[0].Parties, from); !in {
		return fmt.Errorf("%w: %s sent no onion", protocol.ErrMismatch, a.s.Name(from))
	}
	a.gos[from] = true
	return nil
}

func (a *attempt) addAgree(from uint32, m *protocol.MixAgree) error {
	switch {
	case a.batches[a.nodes] == nil:
		return fmt.Errorf("%w: no list is known", protocol.ErrEarly)
	case m.List != a.list:
		if from == a.owner(a.nodes) {
			a.blame(from, a.s.Name(from)+" agrees to another list than it described")
		}
		a.others[from] = true
		return fmt.Errorf("%w: %s agrees to another list", protocol.ErrMismatch, a.s.Name(from))
	case len(m.Parties) < int(a.s.Plan.MinParties):
		return fmt.Errorf("%w: %s agrees with %d", protocol.ErrSmallSet, a.s.Name(from), len(m.Parties))
	}
	for _, p := range m.Parties {
		if _, in := slices.BinarySearch(a.batches[0].Parties, p); !in {
			return fmt.Errorf("%w: %s agrees with %s, which sent no onion", protocol.ErrMismatch, a.s.Name(from),
				a.name(p))
		}
	}
	a.agrees[from] = m
	return nil
}

// agreed reports whether all nodes have signed the list.
func (a *attempt) agreed() bool { return len(a.agrees) == a.nodes }

// addResult checks a result against what the nodes signed.
func (a *attempt) addResult(m *protocol.MixResult) error {
	if m.Outcome != protocol.OutcomeAccepted {
		if m.Suspect != protocol.Everyone && !a.s.Plan.Is(m.Suspect, protocol.RoleCompute) {
			return fmt.Errorf("%w: the result suspects %s, which does not shuffle", protocol.ErrMismatch,
				a.s.Name(m.Suspect))
		}
		a.result = m
		return nil
	}
	last := a.batches[2*a.nodes]
	switch {
	case last == nil:
		return fmt.Errorf("%w: a result before the list is opened", protocol.ErrEarly)
	case m.List != a.list || m.Opened != last.Content || int64(m.Count) != int64(len(a.alive)):
		return fmt.Errorf("%w: the result is not what the nodes opened", protocol.ErrMismatch)
	}
	a.result = m
	return nil
}
