package aggregator

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/field"
	"choir/protocol"
)

// confirming is what the nodes are to confirm of the last result.
type confirming struct {
	round, attempt uint32 // 0 before the first result
	result         protocol.Digest
	values         []protocol.Value // by node
	confirmed      []bool           // by node
}

// expect prepares for the Confirms of a result that was just published. A void one has no openings.
func (a *Aggregator) expect(r *protocol.Result, openings []protocol.Opening) error {
	digest, err := protocol.ResultDigest(r)
	if err != nil {
		return err
	}
	a.confirm = confirming{
		round: r.Round, attempt: r.Attempt, result: digest,
		values: make([]protocol.Value, a.nodes), confirmed: make([]bool, a.nodes),
	}
	for k := range openings {
		a.confirm.values[k] = openings[k].Value(a.fingerprint(a.at.partials[a.node(k)], digest))
	}
	a.eff.Put("confirming", a.confirm.marshal())
	if r.Outcome != protocol.OutcomeVoid {
		a.settled = digest
		a.eff.Put("settled", digest[:])
	}
	return nil
}

// fingerprint is that of a partial sum, which is whole.
func (a *Aggregator) fingerprint(p *partial, result protocol.Digest) *field.Fingerprint {
	f, v := a.s.Fingerprint(result), make(field.Vector, a.s.ChunkLen(0))
	for i := range p.tags {
		part := v[:a.s.ChunkLen(i)]
		part.SetWords(a.chunkOf(p, i)) // canonical: it was added
		f.Write(part)
	}
	return f
}

// confirmed accepts a node's Confirm of the last result. One that contradicts what the node has
// revealed is evidence against it.
func (a *Aggregator) confirmed(from uint32, m *protocol.Confirm, data []byte) error {
	c := &a.confirm
	if m.Round != c.round || m.Attempt != c.attempt {
		if m.Round < c.round || m.Round == c.round && m.Attempt < c.attempt {
			return protocol.ErrDuplicate
		}
		return fmt.Errorf("%w: a confirm of round %d attempt %d", protocol.ErrEarly, m.Round, m.Attempt)
	}
	k := int(from) - a.parties
	if c.confirmed[k] {
		return protocol.ErrDuplicate
	}
	a.eff.Put(a.confirmKey(k), data)
	c.confirmed[k] = true
	a.seen = a.now
	if m.Result == c.result && m.Value == c.values[k] {
		return nil
	}
	why := "another partial sum than it revealed"
	if m.Result != c.result {
		why = "another result"
	}
	a.finish(protocol.Fail(protocol.ClassIntegrity, "round %d attempt %d: %w: %s confirmed %s",
		m.Round, m.Attempt, protocol.ErrMismatch, a.s.Name(from), why))
	return nil
}

func (a *Aggregator) confirmKey(k int) string {
	return fmt.Sprintf("confirm/%d/%d/%d", a.confirm.round, a.confirm.attempt, a.node(k))
}

// allConfirmed reports whether every node has confirmed the last result, if there is one.
func (a *Aggregator) allConfirmed() bool {
	for _, ok := range a.confirm.confirmed {
		if !ok {
			return false
		}
	}
	return true
}

// recordConfirms puts the Confirms of the last result on record, in roster order.
func (a *Aggregator) recordConfirms() {
	view := protocol.StepView{View: a.view, Step: a.eff}
	for k, ok := range a.confirm.confirmed {
		if !ok {
			continue
		}
		if b := view.Get(a.confirmKey(k)); b != nil {
			a.record(b)
			a.eff.Delete(a.confirmKey(k))
		}
	}
}

// marshal returns the stored form: u32 round | u32 attempt | 32 result | n* 16 value.
func (c *confirming) marshal() []byte {
	b := binary.BigEndian.AppendUint32(nil, c.round)
	b = append(binary.BigEndian.AppendUint32(b, c.attempt), c.result[:]...)
	for _, v := range c.values {
		b = append(b, v[:]...)
	}
	return b
}

// restoreConfirms restores what is to be confirmed, and who has confirmed it.
func (a *Aggregator) restoreConfirms() error {
	copy(a.settled[:], a.view.Get("settled"))
	b := a.view.Get("confirming")
	if b == nil {
		return nil
	}
	c := confirming{values: make([]protocol.Value, a.nodes), confirmed: make([]bool, a.nodes)}
	if want := 8 + len(c.result) + a.nodes*len(protocol.Value{}); len(b) != want {
		return fmt.Errorf("confirming has %d bytes, not %d", len(b), want)
	}
	c.round, c.attempt = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	b = b[8+copy(c.result[:], b[8:]):]
	for k := range c.values {
		b = b[copy(c.values[k][:], b):]
	}
	a.confirm = c
	for k := range c.confirmed {
		c.confirmed[k] = a.view.Get(a.confirmKey(k)) != nil
	}
	a.over = c.round == a.s.Plan.Rounds && c.result == a.settled
	return nil
}
