package protocol

import (
	"bytes"
	"io"
	"slices"

	"choir/crypto/identity"
)

// Batch verifies the signatures of several waiting messages in one multi-scalar
// multiplication, before the machine gets the first of them. It is then the machine's
// Verifier: a signature that the batch verified costs a lookup, and any other is verified on
// its own. The machine sees no difference.
//
// A Batch is for one goroutine, the one that steps the machine. It keeps a copy of the signed
// bytes of each message, up to maxKept bytes in memory that it reuses.
type Batch struct {
	bound   BoundPlan
	rand    io.Reader
	keys    identity.Keys   // the roster's, as they are used
	items   []identity.Item // the signatures of the batch
	claimed []known         // their messages
	good    []known         // the messages with a valid signature, in their order
	next    int             // index of good at which the next search begins
	signed  []byte          // the signed bytes of all messages, end to end
}

// known is a message with a valid signature.
type known struct {
	signed   []byte    // what the signature covers
	data     []byte    // the whole message
	envelope *Envelope // whose body is a part of it
}

// batchFrom is the number of signatures from which a batch is cheaper than verifying each: measured,
// two thirds of the cost at 4, half of it at 11.
const batchFrom = 4

// maxKept bounds the memory that a Batch keeps for signed bytes between batches. It is enough
// for more contributions than a host delivers at a time.
const maxKept = 1 << 20

// NewBatch returns a Batch that draws the coefficients of the combination from r. This must be
// crypto/rand.Reader except in tests: an adversary who can predict the coefficients can make
// an invalid signature pass.
func NewBatch(s BoundPlan, r io.Reader) *Batch {
	s.Verifier = nil
	return &Batch{bound: s, rand: r}
}

// Prepare verifies the messages that are signed by a member that may send them, and drops the
// previous batch. The messages must not change afterwards. Lookups are linear, so there should
// be at most some hundreds.
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

// forget drops the batch, and keeps memory for the next one.
func (b *Batch) forget() {
	clear(b.claimed)
	clear(b.items)
	b.items = b.items[:0]
	b.claimed = b.claimed[:0]
	b.good = nil
	b.next = 0
	if cap(b.signed) > maxKept {
		b.signed = nil
	}
}

// claims sets items and claimed to the messages that pass all checks but the signature's.
func (b *Batch) claims(messages [][]byte) {
	size := 0
	for _, data := range messages {
		if !IsChunk(data) {
			size += signedSize + len(data)
		}
	}
	b.signed = slices.Grow(b.signed[:0], size) // no reallocation: the items point into it
	envelopes, w := make([]Envelope, len(messages)), new(wire)
	for i, data := range messages {
		e := &envelopes[i]
		*w = wire{b: data, in: true, view: true}
		if IsChunk(data) || w.read("envelope", e) != nil || b.bound.precheck(e) != nil {
			continue
		}
		start := len(b.signed)
		all, err := e.appendSigned(b.signed, uint8(b.bound.Plan.Suite))
		if err != nil {
			continue
		}
		b.signed = all
		signed := all[start:len(all):len(all)]
		b.items = append(b.items, identity.Item{Key: b.bound.Plan.Members[e.From].Key, Msg: signed, Sig: e.Sig})
		b.claimed = append(b.claimed, known{signed, data, e})
	}
}

// find returns the message with a valid signature sig, nil if there is none.
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

// read returns the envelope of a message of the batch, nil for any other message. It is decoded
// and checked already.
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

// knows reports whether the envelope is one of the batch.
func (b *Batch) knows(e *Envelope) bool {
	k := b.find(&e.Sig)
	return k != nil && k.envelope.Kind == e.Kind && k.envelope.Plan == e.Plan &&
		k.envelope.From == e.From && bytes.Equal(k.envelope.Body, e.Body)
}

// Verify implements Verifier.
func (b *Batch) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	k := b.find(&sig)
	if k != nil && b.bound.Plan.Members[k.envelope.From].Key == key && bytes.Equal(k.signed, msg) {
		return true
	}
	return b.keys.Verify(key, msg, sig)
}
