package mix

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"choir/crypto/channel"
	"choir/internal/parallel"
	"choir/protocol"
)

// node is the k-th compute node.
type node struct {
	*machine
	k int // 1..M
}

func (n *node) restore() error               { return nil }
func (n *node) proposal(_ protocol.Proposal) {}

// made reports whether this node has signed a batch in this attempt.
func (n *node) made(stage int) bool {
	return n.own[slot{kind: protocol.KindMixBatch, from: n.self, stage: uint32(stage)}]
}

func (n *node) has(k protocol.Kind) bool { return n.own[slot{kind: k, from: n.self}] }

// due is when the node closes the first batch, agrees with fewer than all parties, or complains about
// entries that are missing or about a fault that the aggregator does not end the attempt for.
func (n *node) due() int64 {
	a, deadline := n.at, int64(n.s.Plan.DeadlineMS)
	switch {
	case a == nil || n.has(protocol.KindMixComplaint):
		return 0
	case a.fault != nil:
		return n.progress + deadline
	}
	if stage := n.source(); stage > 0 && !a.complete(stage) {
		return a.knownAt[stage] + deadline
	}
	least := int(n.s.Plan.MinParties)
	switch {
	case n.k == 1 && a.batches[0] == nil && a.arrived >= least:
		return a.since + deadline
	case a.batches[a.nodes] != nil && !n.has(protocol.KindMixAgree) && len(a.gos) >= least:
		return a.knownAt[a.nodes] + deadline
	}
	return 0
}

// source is the batch whose entries this node needs for its next message; -1: none that is known.
func (n *node) source() int {
	a := n.at
	stage := -1
	switch {
	case !a.keysKnown():
	case !n.made(n.k):
		stage = n.k - 1
	case !n.has(protocol.KindMixAgree):
		stage = a.nodes
	case a.agreed() && !n.made(a.nodes+n.k):
		stage = a.nodes + n.k - 1
	}
	if stage < 0 || a.batches[stage] == nil {
		return -1
	}
	return stage
}

func (n *node) advance() {
	a := n.at
	if a == nil {
		return
	}
	if a.fault != nil {
		if due := n.due(); due > 0 && n.now >= due {
			n.accuse(a.fault.suspect, a.fault.reason, nil)
		}
		return
	}
	if !n.has(protocol.KindMixKeys) {
		n.sayKeys()
	}
	if !a.keysKnown() || n.over {
		return
	}
	if n.k == 1 && a.batches[0] == nil && n.closes() {
		n.close()
	}
	for !n.over && a.fault == nil {
		stage := n.source()
		if stage < 0 {
			return
		}
		entries := n.incoming(stage)
		if entries == nil || !n.use(entries) {
			return
		}
	}
}

// use does what the entries of the source are for, and reports whether it has done it.
func (n *node) use(entries [][]byte) bool {
	switch {
	case !n.made(n.k):
		n.mix(entries)
	case !n.has(protocol.KindMixAgree):
		return n.agree()
	default:
		n.open(entries)
	}
	return true
}

// sayKeys makes the keys of the attempt.
func (n *node) sayKeys() {
	var private, public [][]byte
	for range 2 {
		key, err := channel.GenerateKey(n.s.Plan.Suite, n.cfg.Rand)
		if err != nil {
			n.finish(err)
			return
		}
		b, err := key.Bytes()
		if err != nil {
			n.finish(err)
			return
		}
		private = append(private, b)
		public = append(public, key.Public())
	}
	n.setSecrets(private)
	n.last = nil
	n.say(n.s.SubjectMixKeys(n.self),
		&protocol.MixKeys{Round: n.at.round, Attempt: n.at.attempt, Outer: public[0], Inner: public[1]})
}

// closes reports whether the first node stops accepting onions.
func (n *node) closes() bool {
	have := n.at.arrived
	return have == n.s.Plan.Parties() ||
		have >= int(n.s.Plan.MinParties) && n.now >= n.at.since+int64(n.s.Plan.DeadlineMS)
}

// close signs the list of onions, before this node has opened any.
func (n *node) close() {
	a := n.at
	senders := a.senders()
	m := a.describe(0, a.received(senders))
	m.Parties = senders
	for _, p := range senders {
		m.Entries = append(m.Entries, uint32(a.onions[p].entries))
	}
	n.last = nil
	n.say(n.s.SubjectMixBatch(n.self), m)
}

// incoming returns the entries of a batch, nil if some are missing. It complains if they are wrong, or
// missing for long.
func (n *node) incoming(stage int) [][]byte {
	a := n.at
	if stage == 0 {
		return a.received(a.batches[0].Parties)
	}
	entries, err := a.entries(stage)
	if entries == nil && err == nil && n.now >= a.knownAt[stage]+int64(n.s.Plan.DeadlineMS) {
		err = errors.New("entries are missing")
	}
	if err != nil {
		n.complain(stage, fmt.Sprintf("batch %d: %v", stage, err))
		return nil
	}
	return entries
}

// openLayers opens one layer of all entries with the outer key, 0, or the inner one, 1. What does not
// open is nil.
func (n *node) openLayers(which int, entries [][]byte, info func(i int) []byte) ([][]byte, error) {
	if len(n.secrets) != 2 {
		return nil, fmt.Errorf("the store has %d keys of the attempt, not 2", len(n.secrets))
	}
	key, err := channel.NewPrivateKey(n.s.Plan.Suite, n.secrets[which])
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, len(entries))
	parallel.Do(len(entries), func(i int) {
		if content, err := open(n.s.Plan.Suite, key, info(i), entries[i]); err == nil {
			contents[i] = content
		}
	})
	return contents, nil
}

// mix removes this node's outer layer, drops what does not open or repeats, and shuffles.
func (n *node) mix(entries [][]byte) {
	a := n.at
	var senders []uint32
	if n.k == 1 {
		senders = a.origins()
	}
	contents, err := n.openLayers(0, entries, func(i int) []byte {
		if n.k == 1 {
			return a.outerInfo(1, senders[i])
		}
		return a.outerInfo(n.k, protocol.Everyone)
	})
	if err != nil {
		n.finish(err)
		return
	}
	kept, failed, repeated := n.sift(contents)
	order, err := permutation(len(kept), n.cfg.Rand)
	if err != nil {
		n.finish(err)
		return
	}
	shuffled := make([][]byte, len(kept))
	for i, j := range order {
		shuffled[i] = kept[j]
	}
	m := a.describe(n.k, shuffled)
	m.Failed = failed
	m.Repeated = repeated
	n.setSecrets([][]byte{nil, n.secrets[1]})
	n.pass(m, a.divide(n.k, shuffled))
}

// sift keeps the contents of the right length that differ from all before them.
func (n *node) sift(contents [][]byte) (kept [][]byte, failed, repeated []uint32) {
	seen := map[protocol.MixDigest]bool{}
	for i, c := range contents {
		d := EntryDigest(c)
		switch {
		case len(c) != n.at.size(n.k):
			failed = append(failed, uint32(i))
			n.drop(i, protocol.ErrSealed)
		case seen[d]:
			repeated = append(repeated, uint32(i))
			n.drop(i, protocol.ErrEquivocate)
		default:
			seen[d] = true
			kept = append(kept, c)
		}
	}
	return kept, failed, repeated
}

// drop notes an entry that is left out, with its sender if this node knows it.
func (n *node) drop(i int, why error) {
	note := protocol.Notice{Code: protocol.NoteRefused, Round: n.at.round, Attempt: n.at.attempt,
		Err: fmt.Errorf("%w: entry %d of batch %d", why, i, n.k-1)}
	if n.k == 1 {
		note.Peer = n.s.Name(n.at.origins()[i])
	}
	n.eff.Note(note)
}

// pass signs and sends a batch.
func (n *node) pass(m *protocol.MixBatch, pieces [][]byte) {
	n.last = nil
	n.say(n.s.SubjectMixBatch(n.self), m)
	for i, piece := range pieces {
		if n.over {
			return
		}
		n.say(n.s.SubjectMixPiece(n.self, m.Stage), &protocol.MixPiece{Round: m.Round, Attempt: m.Attempt,
			Stage: m.Stage, Index: uint32(i), Entries: piece})
	}
}

// agree signs the list once enough parties have found their entries in it.
func (n *node) agree() bool {
	a, plan := n.at, n.s.Plan
	have := len(a.gos)
	if have < int(plan.MinParties) ||
		have < len(a.batches[0].Parties) && n.now < a.knownAt[a.nodes]+int64(plan.DeadlineMS) {
		return false
	}
	n.last = nil
	n.say(n.s.SubjectMixAgree(n.self), &protocol.MixAgree{Round: a.round, Attempt: a.attempt, List: a.list,
		Parties: slices.Sorted(maps.Keys(a.gos))})
	n.eff.Note(protocol.Notice{Code: protocol.NoteAgreed, Round: a.round, Attempt: a.attempt, Count: have})
	return true
}

// open opens this node's inner layer of what is left of the list. From here on the node opens no other
// list of the round, also after a crash: the batch is stored before any of it is sent.
func (n *node) open(entries [][]byte) {
	a := n.at
	stage := a.nodes + n.k
	positions := a.aliveAt(stage - 1)
	list, err := a.entries(a.nodes)
	if err != nil || list == nil {
		n.finish(fmt.Errorf("the store lacks the list that this node signed: %w", err))
		return
	}
	if n.k == 1 {
		entries = make([][]byte, len(list))
		for i, e := range list {
			entries[i] = a.splitEntry(e).inner
		}
	}
	contents, err := n.openLayers(1, entries, func(int) []byte { return a.innerInfo(n.k) })
	if err != nil {
		n.finish(err)
		return
	}
	m := &protocol.MixBatch{Round: a.round, Attempt: a.attempt, Stage: uint32(stage), Before: a.before(stage)}
	var kept [][]byte
	for i, c := range contents {
		if c == nil || layerDigest(c) != a.splitEntry(list[positions[i]]).commitments[n.k-1] ||
			len(c) != a.size(stage) {
			m.Failed = append(m.Failed, uint32(positions[i]))
			n.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: a.round, Attempt: a.attempt,
				Err: fmt.Errorf("%w: entry %d of the list", protocol.ErrSealed, positions[i])})
			continue
		}
		kept = append(kept, c)
	}
	m.Content = ContentDigest(kept)
	pieces := a.divide(stage, kept)
	if n.k == a.nodes {
		if err := a.sealReports(pieces); err != nil {
			n.finish(err)
			return
		}
	}
	n.state.closed = a.round
	n.putState()
	n.setSecrets(nil)
	n.pass(m, pieces)
	n.eff.Note(protocol.Notice{Code: protocol.NoteRevealed, Round: a.round, Attempt: a.attempt,
		Count: len(kept)})
}
