package protocol

import (
	"bytes"
	"io"
	"slices"

	"choir/crypto/identity"
)

// Batch verifies the signatures of messages that are waiting together in one
// multi-scalar multiplication, before a machine sees the first of them, and is
// the machine's Verifier afterwards: what it has found good costs a look-up, and
// everything else is verified by itself. A machine can't tell the difference.
//
// One goroutine uses a Batch: the one that steps the machine. It has a copy of what was
// signed of each message, up to keptRoom in memory that it uses again.
type Batch struct {
	session BoundPlan
	rand    io.Reader
	keys    identity.Keys   // the roster's, as they come
	items   []identity.Item // of what is being verified
	claimed []known         // the same, and then what of it is good
	good    []known         // in the order in which they came
	next    int             // of good, where to look first: messages are taken in as they came
	room    []byte          // what was signed, end to end
}

// known is a message whose signature holds.
type known struct {
	signed   []byte    // what the signature covers
	data     []byte    // the whole message
	envelope *Envelope // whose body is a part of it
}

// batchFrom is the number of signatures from which on verifying together costs
// less than one by one (measured: even at 10, a half at 100 and more).
const batchFrom = 16

// keptRoom bounds the memory that a Batch keeps for what was signed, in bytes: enough
// for more contributions than a host takes in at a time.
const keptRoom = 1 << 20

// NewBatch draws the coefficients of the combination from r, which must be
// crypto/rand.Reader anywhere but in tests: whoever can predict them can make a
// bad signature pass.
func NewBatch(s BoundPlan, r io.Reader) *Batch {
	s.Verifier = nil
	return &Batch{session: s, rand: r}
}

// Prepare verifies what of the messages is signed by a member that may send it,
// and forgets what it knew before. The messages must not change from here on. What it
// knows is found by looking through it, so that they should be some hundreds at the most.
func (b *Batch) Prepare(messages [][]byte) {
	b.forget()
	if len(messages) < batchFrom {
		return
	}
	b.claims(messages)
	if len(b.items) < batchFrom {
		return
	}
	bad := b.keys.VerifyBatch(b.items, b.rand)
	b.good = b.claimed[:0]
	for i, k := range b.claimed {
		if len(bad) > 0 && bad[0] == i {
			bad = bad[1:]
			continue
		}
		b.good = append(b.good, k)
	}
}

// forget leaves nothing known, and of the memory what the next messages can use.
func (b *Batch) forget() {
	clear(b.claimed)
	clear(b.items)
	b.items, b.claimed, b.good, b.next = b.items[:0], b.claimed[:0], nil, 0
	if cap(b.room) > keptRoom {
		b.room = nil
	}
}

// claims sets items and claimed to those of the messages about which everything that
// needs no curve is right.
func (b *Batch) claims(messages [][]byte) {
	size := 0
	for _, data := range messages {
		if !IsChunk(data) {
			size += signedSize + len(data)
		}
	}
	b.room = slices.Grow(b.room[:0], size) // it must not move: the items point into it
	envelopes, w := make([]Envelope, len(messages)), new(wire)
	for i, data := range messages {
		e := &envelopes[i]
		*w = wire{b: data, in: true, view: true}
		if IsChunk(data) || w.read("envelope", e) != nil || b.session.precheck(e) != nil {
			continue
		}
		start := len(b.room)
		all, err := e.appendSigned(b.room, uint8(b.session.Plan.Suite))
		if err != nil {
			continue
		}
		b.room = all
		signed := all[start:len(all):len(all)]
		b.items = append(b.items, identity.Item{Key: b.session.Plan.Members[e.From].Key, Msg: signed, Sig: e.Sig})
		b.claimed = append(b.claimed, known{signed, data, e})
	}
}

// find is what is known of a signature, nil when nothing is.
func (b *Batch) find(sig *identity.Signature) *known {
	for i := range b.good {
		at := b.next + i
		if at >= len(b.good) {
			at -= len(b.good)
		}
		if k := &b.good[at]; k.envelope.Sig == *sig {
			b.next = at + 1
			return k
		}
	}
	return nil
}

// read is the envelope of a message that was found good as it stands, nil for any
// other: it has been read and checked, and isn't read again.
func (b *Batch) read(data []byte) *Envelope {
	if len(data) < identity.SignatureSize {
		return nil
	}
	k := b.find((*identity.Signature)(data[len(data)-identity.SignatureSize:]))
	if k == nil || !bytes.Equal(k.data, data) {
		return nil
	}
	return k.envelope
}

// knows reports that this very envelope was found good: what is signed follows from
// it, and need not be laid out again.
func (b *Batch) knows(e *Envelope) bool {
	k := b.find(&e.Sig)
	return k != nil && k.envelope.Kind == e.Kind && k.envelope.Plan == e.Plan && k.envelope.From == e.From && bytes.Equal(k.envelope.Body, e.Body)
}

// Verify implements Verifier.
func (b *Batch) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	if k := b.find(&sig); k != nil && b.session.Plan.Members[k.envelope.From].Key == key && bytes.Equal(k.signed, msg) {
		return true
	}
	return b.keys.Verify(key, msg, sig)
}
