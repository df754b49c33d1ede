package mix

import (
	"errors"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// whole returns the pieces of a batch in order, nil if one is missing.
func (a *attempt) whole(stage int) [][]byte {
	if a.batches[stage] == nil {
		return nil
	}
	all := make([][]byte, a.geometry.pieces(stage, a.count(stage)))
	for i := range all {
		piece, ok := a.pieces[stage][uint32(i)]
		if !ok {
			return nil
		}
		all[i] = piece
	}
	return all
}

// complete reports whether all entries of a batch are there.
func (a *attempt) complete(stage int) bool { return stage == 0 || a.whole(stage) != nil }

// entries returns the entries of a batch, checked against its description and, after the list,
// against the digests in the list. They are nil if pieces are missing. An error means that the node
// that made the batch lied.
func (a *attempt) entries(stage int) (entries [][]byte, err error) {
	if entries, ok := a.checked[stage]; ok {
		return entries, nil
	}
	pieces := a.whole(stage)
	if pieces == nil {
		return nil, nil
	}
	if entries, err = a.split(stage, pieces); err == nil {
		a.checked[stage] = entries
	}
	return entries, err
}

func (a *attempt) split(stage int, pieces [][]byte) ([][]byte, error) {
	size, left := a.size(stage), a.count(stage)
	entries := make([][]byte, 0, left)
	for i, piece := range pieces {
		n := min(left, a.perPiece(stage))
		if len(piece) != n*size {
			return nil, fmt.Errorf("piece %d has %d bytes, not %d", i, len(piece), n*size)
		}
		for left -= n; len(piece) > 0; piece = piece[size:] {
			entries = append(entries, piece[:size:size])
		}
	}
	if ContentDigest(entries) != a.batches[stage].Content {
		return nil, fmt.Errorf("the entries are not those that were described")
	}
	if stage > a.nodes {
		return entries, a.checkOpened(stage, entries)
	}
	if why := a.wrongEntries(stage, 0, entries); why != "" {
		return nil, errors.New(why)
	}
	return entries, nil
}

// wrongEntries compares entries of a batch, from one on, with the digests of its description.
func (a *attempt) wrongEntries(stage, first int, entries [][]byte) string {
	for i, e := range entries {
		if EntryDigest(e) != a.batches[stage].Digests[first+i] {
			return fmt.Sprintf("entry %d of batch %d is not the one that was described", first+i, stage)
		}
	}
	return ""
}

// wrongOpened compares what a node opened, from one entry on, with the digests in the list.
func (a *attempt) wrongOpened(stage int, list [][]byte, first int, entries [][]byte) string {
	positions := a.aliveAt(stage)
	for i, e := range entries {
		position := positions[first+i]
		if layerDigest(e) != a.splitEntry(list[position]).commitments[stage-a.nodes-1] {
			return fmt.Sprintf("entry %d of the list is not what its sender sealed", position)
		}
	}
	return ""
}

// checkOpened compares what a node opened with the digests in the list.
func (a *attempt) checkOpened(stage int, entries [][]byte) error {
	list, err := a.entries(a.nodes)
	if err != nil || list == nil {
		return err
	}
	if why := a.wrongOpened(stage, list, 0, entries); why != "" {
		return errors.New(why)
	}
	return nil
}

// aliveAt returns the positions of the list whose entries are in a batch after it.
func (a *attempt) aliveAt(stage int) []int {
	failed := map[uint32]bool{}
	for s := a.nodes + 1; s <= stage; s++ {
		for _, i := range a.batches[s].Failed {
			failed[i] = true
		}
	}
	var alive []int
	for i := range a.count(a.nodes) {
		if !failed[uint32(i)] {
			alive = append(alive, i)
		}
	}
	return alive
}

// divide puts entries into pieces.
func (g geometry) divide(stage int, entries [][]byte) [][]byte {
	pieces := make([][]byte, 0, g.pieces(stage, len(entries)))
	for n := g.perPiece(stage); len(entries) > 0; {
		var piece []byte
		for _, e := range entries[:min(n, len(entries))] {
			piece = append(piece, e...)
		}
		pieces = append(pieces, piece)
		entries = entries[min(n, len(entries)):]
	}
	return pieces
}

// openReports opens the last batch with the aggregator's key: nonces with reports. They are nil if pieces
// are missing.
func (a *attempt) openReports(key *channel.PrivateKey) ([][]byte, error) {
	last := 2 * a.nodes
	sealed := a.whole(last)
	if sealed == nil {
		return nil, nil
	}
	pieces := make([][]byte, len(sealed))
	for i := range sealed {
		var err error
		if pieces[i], err = open(a.suite, key, a.reportsInfo(uint32(i)), sealed[i]); err != nil {
			return nil, fmt.Errorf("piece %d of the reports: %w", i, err)
		}
	}
	entries, err := a.split(last, pieces)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// sealReports seals the pieces of the last batch for the aggregator.
func (a *attempt) sealReports(pieces [][]byte) (err error) {
	for i := range pieces {
		if pieces[i], err = seal(a.suite, a.reports, a.reportsInfo(uint32(i)), pieces[i]); err != nil {
			return err
		}
	}
	return nil
}

// describe makes the description of a batch.
func (a *attempt) describe(stage int, entries [][]byte) *protocol.MixBatch {
	m := &protocol.MixBatch{Round: a.round, Attempt: a.attempt, Stage: uint32(stage), Before: a.before(stage),
		Content: ContentDigest(entries)}
	if stage <= a.nodes {
		for _, e := range entries {
			m.Digests = append(m.Digests, EntryDigest(e))
		}
	}
	return m
}
