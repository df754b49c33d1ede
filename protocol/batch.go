package protocol

import (
	"bytes"
	"io"

	"choir/crypto/identity"
)

// Batch verifies the signatures of messages that are waiting together in one
// multi-scalar multiplication, before a machine sees the first of them, and is
// the machine's Verifier afterwards: what it has found good costs a look-up, and
// everything else is verified by itself. A machine can't tell the difference.
//
// One goroutine uses a Batch: the one that steps the machine.
type Batch struct {
	session Session
	rand    io.Reader
	keys    identity.Keys                // the roster's, as they come
	good    map[identity.Signature]known // by signature, one each
}

// known is a message whose signature holds.
type known struct {
	item     identity.Item
	data     []byte // the whole message
	envelope *Envelope
}

// batchFrom is the number of signatures from which on verifying together costs
// less than one by one (measured: even at 10, a half at 100 and more).
const batchFrom = 16

// NewBatch draws the coefficients of the combination from r, which must be
// crypto/rand.Reader anywhere but in tests: whoever can predict them can make a
// bad signature pass.
func NewBatch(s Session, r io.Reader) *Batch {
	s.Verifier = nil
	return &Batch{session: s, rand: r, good: map[identity.Signature]known{}}
}

// Prepare verifies what of the messages is signed by a member that may send it,
// and forgets what it knew before.
func (b *Batch) Prepare(messages [][]byte) {
	clear(b.good)
	if len(messages) < batchFrom {
		return
	}
	items, claimed := make([]identity.Item, 0, len(messages)), make([]known, 0, len(messages))
	for _, data := range messages {
		if it, e, ok := b.item(data); ok {
			items, claimed = append(items, it), append(claimed, known{it, data, e})
		}
	}
	if len(items) < batchFrom {
		return
	}
	bad := b.keys.VerifyBatch(items, b.rand)
	for i, it := range items {
		if len(bad) > 0 && bad[0] == i {
			bad = bad[1:]
			continue
		}
		b.good[it.Sig] = claimed[i]
	}
}

// item is a message's claim, if everything about it that needs no curve is right.
func (b *Batch) item(data []byte) (it identity.Item, e *Envelope, ok bool) {
	if IsChunk(data) {
		return it, nil, false
	}
	e, err := UnmarshalEnvelope(data)
	if err != nil || b.session.precheck(e) != nil {
		return it, nil, false
	}
	tbs, err := e.toBeSigned(uint8(b.session.Plan.Suite))
	if err != nil {
		return it, nil, false
	}
	return identity.Item{Key: b.session.Plan.Members[e.From].Key, Msg: tbs, Sig: e.Sig}, e, true
}

// read is the envelope of a message that was found good as it stands, nil for any
// other: it has been read and checked, and isn't read again.
func (b *Batch) read(data []byte) *Envelope {
	if len(data) < identity.SignatureSize {
		return nil
	}
	k, ok := b.good[identity.Signature(data[len(data)-identity.SignatureSize:])]
	if !ok || !bytes.Equal(k.data, data) {
		return nil
	}
	return k.envelope
}

// knows reports that this very envelope was found good: what is signed follows from
// it, and need not be laid out again.
func (b *Batch) knows(e *Envelope) bool {
	k, ok := b.good[e.Sig]
	return ok && k.envelope.Kind == e.Kind && k.envelope.Plan == e.Plan && k.envelope.From == e.From && bytes.Equal(k.envelope.Body, e.Body)
}

// Verify implements Verifier.
func (b *Batch) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	if k, ok := b.good[sig]; ok && k.item.Key == key && bytes.Equal(k.item.Msg, msg) {
		return true
	}
	return b.keys.Verify(key, msg, sig)
}
