package mix

import (
	"fmt"

	"choir/crypto/blake"
	"choir/protocol"
)

// early is the messages that a bus delivered before those that their senders, or others, sent first, as it
// may when it retransmits. They are not stored: if the process ends, they are retransmitted.
type early struct {
	messages [][]byte
	held     map[slot]protocol.Digest
	bytes    int
}

// maxEarly bounds the messages that wait, in bytes.
const maxEarly = 64 << 20

// hold keeps a message for later, the first one of its slot.
func (e *early) hold(sl slot, data []byte) error {
	d := blake.Derive(entryContext, data)
	switch first, is := e.held[sl]; {
	case is && first == d:
		return protocol.ErrDuplicate
	case is:
		return fmt.Errorf("%w: it waits for what must come before", protocol.ErrEquivocate)
	case e.bytes+len(data) > maxEarly:
		return fmt.Errorf("%w: %d bytes wait already", protocol.ErrEarly, e.bytes)
	case e.held == nil:
		e.held = map[slot]protocol.Digest{}
	}
	e.held[sl] = d
	e.messages = append(e.messages, data)
	e.bytes += len(data)
	return nil
}

func (e *early) take() [][]byte {
	all := e.messages
	*e = early{}
	return all
}

// mayWait reports whether a message that is too early waits for what must come before: a piece that the batch
// can have, the batch that the first node sends right after another, or a complaint about a batch.
func (a *attempt) mayWait(m protocol.Message) bool {
	switch m := m.(type) {
	case *protocol.MixPiece:
		return int64(m.Index) < int64(a.geometry.pieces(int(m.Stage), a.s.Plan.Parties()*a.most))
	case *protocol.MixBatch:
		return m.Stage == 1
	case *protocol.MixComplaint:
		return true
	}
	return false
}
