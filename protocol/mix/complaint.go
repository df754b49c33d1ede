package mix

import (
	"fmt"
	"slices"

	"choir/protocol"
)

// addComplaint ends the attempt. The accused member is suspected if a piece that it signed shows that it
// lied; otherwise no one is.
func (a *attempt) addComplaint(from uint32, m *protocol.MixComplaint) error {
	f := fault{protocol.Everyone, fmt.Sprintf("%s accuses %s without a proof: one of the two does not follow "+
		"the protocol, or the broker kept messages back: %s", a.s.Name(from), a.name(m.About), m.Reason)}
	if len(m.Piece) > 0 {
		why, err := a.proof(m)
		if err != nil {
			return err
		}
		if why != "" {
			f = fault{m.About, fmt.Sprintf("%s shows that %s lied: %s", a.s.Name(from), a.name(m.About), why)}
		}
	}
	a.blame(f.suspect, f.reason)
	return nil
}

// proof returns what the piece of a complaint shows, "" if nothing.
func (a *attempt) proof(m *protocol.MixComplaint) (string, error) {
	e, msg, err := a.s.Receive(m.Piece)
	if err != nil {
		return "", fmt.Errorf("%w: the piece of a complaint: %w", protocol.ErrMismatch, err)
	}
	piece, ok := msg.(*protocol.MixPiece)
	stage := int64(0)
	if ok {
		stage = int64(piece.Stage)
	}
	switch {
	case !ok || e.From != m.About || piece.Round != a.round || piece.Attempt != a.attempt || stage < 1 ||
		stage >= int64(2*a.nodes) || a.owner(int(stage)) != e.From:
		return "", fmt.Errorf("%w: a complaint about another batch than its piece is of", protocol.ErrMismatch)
	case a.batches[stage] == nil:
		return "", fmt.Errorf("%w: a complaint about a batch before its description", protocol.ErrEarly)
	}
	return a.wrongPiece(piece)
}

// complain ends the attempt, with a piece that shows what is wrong with a batch if there is one.
func (n *node) complain(stage int, reason string) {
	var shows []byte
	for _, data := range n.signed {
		if protocol.Kind(data[0]) != protocol.KindMixPiece {
			continue
		}
		_, msg, err := n.s.Receive(data)
		piece, ok := msg.(*protocol.MixPiece)
		if err != nil || !ok || int(piece.Stage) != stage {
			continue
		}
		if why, err := n.at.wrongPiece(piece); err == nil && why != "" {
			shows = data
			break
		}
	}
	about := n.at.owner(stage)
	n.eff.Note(protocol.Notice{Code: protocol.NoteRefused, Round: n.at.round, Attempt: n.at.attempt,
		Peer: n.s.Name(about), Err: fmt.Errorf("%w: %s", protocol.ErrMismatch, reason)})
	n.accuse(about, reason, shows)
}

// accuse signs a complaint. A node that cannot go on, because of what others have not been shown, is not
// taken as silent then.
func (n *node) accuse(about uint32, reason string, piece []byte) {
	n.last = nil
	n.say(n.s.SubjectMixBatch(n.self), &protocol.MixComplaint{Round: n.at.round, Attempt: n.at.attempt,
		About: about, Reason: protocol.Printable(reason), Piece: piece})
}

// wrongPiece returns how a piece contradicts the description of its batch or, after the list, the digests
// in the list; "" if it does not. Only of a batch of one piece does it see that the content is another.
func (a *attempt) wrongPiece(m *protocol.MixPiece) (string, error) {
	stage, n := int(m.Stage), a.count(int(m.Stage))
	if int64(m.Index) >= int64(a.geometry.pieces(stage, n)) {
		return "", nil // no one uses it
	}
	first := int(m.Index) * a.perPiece(stage)
	of := min(a.perPiece(stage), n-first)
	if len(m.Entries) != of*a.size(stage) {
		return fmt.Sprintf("piece %d of batch %d has %d bytes, not %d", m.Index, stage, len(m.Entries),
			of*a.size(stage)), nil
	}
	entries := slices.Collect(slices.Chunk(m.Entries, a.size(stage)))
	if stage > a.nodes {
		list, err := a.entries(a.nodes)
		if err != nil || list == nil {
			return "", err // a party does not have the list's entries
		}
		if why := a.wrongOpened(stage, list, first, entries); why != "" {
			return why, nil
		}
	} else if why := a.wrongEntries(stage, first, entries); why != "" {
		return why, nil
	}
	if of == n && ContentDigest(entries) != a.batches[stage].Content {
		return fmt.Sprintf("the entries of batch %d are not those that were described", stage), nil
	}
	return "", nil
}
