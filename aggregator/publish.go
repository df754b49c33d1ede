package aggregator

import (
	"fmt"
	"strconv"

	"choir/crypto/xof"
	"choir/internal/parallel"
	"choir/protocol"
)

// sumKey is the record of the last result's aggregate in its packed form, empty when it is the
// model. The sealed chunks follow from it, byte for byte, and are not stored as long as the
// group key exists.
const sumKey = "last/sum"

// publish signs a result and seals the aggregate for the members; packed is its record. A void
// result has no sum.
func (a *Aggregator) publish(r *protocol.Result, sum []int64, packed []byte) error {
	var chunks []protocol.Outgoing
	var err error
	if sum != nil {
		if chunks, r.Chunks, err = a.seal(r, sum); err != nil {
			return err
		}
	}
	head, err := a.sign(r)
	if err != nil {
		return err
	}
	a.record(head)
	for i := range a.kept {
		a.eff.Delete(lastKey(i))
	}
	a.eff.Delete(sumKey)
	a.last = nil
	a.kept = 0
	a.sendKept(protocol.Outgoing{Subject: a.s.SubjectResult(r.Round, r.Attempt, "head"), Data: head})
	if sum == nil {
		return nil
	}
	a.eff.Put(sumKey, packed)
	if r.Round < a.s.Plan.Rounds { // the last sum follows when the session is complete
		a.eff.Send = append(a.eff.Send, chunks...)
	}
	a.last = append(a.last, chunks...)
	return nil
}

// seal makes the aggregate's chunks for the members, the same ones each time, and their digests.
func (a *Aggregator) seal(r *protocol.Result, sum []int64) ([]protocol.Outgoing, []protocol.Digest, error) {
	group := a.groupOf(r.Round)
	sealer, err := a.s.Sealer(group, a.s.ResultContext(group, r))
	if err != nil {
		return nil, nil, err
	}
	out, digests := make([]protocol.Outgoing, a.s.Chunks()), make([]protocol.Digest, a.s.Chunks())
	parallel.Do(len(out), func(i int) {
		lo := i * xof.ChunkElements
		ints := sum[lo : lo+a.s.ChunkLen(i)]
		b, ciphertext := sealer.Seal(i, func(plain []byte) { protocol.AppendInts(plain[:0], ints) })
		digests[i] = protocol.NewChunkHash().Digest(ciphertext)
		out[i] = protocol.Outgoing{Subject: a.s.SubjectResult(r.Round, r.Attempt, strconv.Itoa(i)), Data: b}
	})
	return out, digests, nil
}

// sendKept sends a signed message and adds it to the last result, in one record, for
// retransmission.
func (a *Aggregator) sendKept(o protocol.Outgoing) {
	a.eff.Put(lastKey(a.kept), o.Data)
	a.eff.Send = append(a.eff.Send, o)
	a.addLast(o.Subject, o.Data)
}

// persistChunks puts all messages of the last result on record, in order: without the group
// key its chunks cannot be sealed again.
func (a *Aggregator) persistChunks() {
	for i, o := range a.last {
		a.eff.Put(lastKey(i), o.Data)
	}
	a.kept = len(a.last)
	a.eff.Delete(sumKey)
}

func lastKey(i int) string { return fmt.Sprintf("last/%08d", i) }

// restoreLast reads the messages of the last result and seals its aggregate again.
func (a *Aggregator) restoreLast() error {
	for _, key := range a.view.Keys("last/") {
		if key == sumKey {
			continue
		}
		data := a.view.Get(key)
		if err := a.restoreLastMessage(data); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// restoreLastMessage restores a message of the last result. After a result whose chunks are not
// on record it restores the aggregate.
func (a *Aggregator) restoreLastMessage(data []byte) error {
	if protocol.IsChunk(data) {
		c, err := protocol.ViewChunk(data)
		if err == nil {
			a.addLast(a.s.SubjectResult(c.Round, c.Attempt, strconv.Itoa(int(c.Index))), data)
		}
		return err
	}
	_, m, err := a.s.Receive(data)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *protocol.Result:
		a.addLast(a.s.SubjectResult(m.Round, m.Attempt, "head"), data)
		return a.restoreSum(m)
	case *protocol.Group:
		a.addLast(a.s.SubjectGroup(m.To), data)
	case *protocol.Abort:
		a.addLast(a.s.SubjectControl(), data)
	default:
		return fmt.Errorf("a %T is not a part of a result", m)
	}
	return nil
}

// addLast adds a message that is on record to the last result.
func (a *Aggregator) addLast(subject string, data []byte) {
	a.last = append(a.last, protocol.Outgoing{Subject: subject, Data: data})
	a.kept++
}

// restoreSum seals the aggregate of the last result again, if it is on record.
func (a *Aggregator) restoreSum(r *protocol.Result) error {
	b := a.view.Get(sumKey)
	if b == nil {
		return nil
	}
	sum := a.model
	if len(b) > 0 {
		var ok bool
		if sum, ok = protocol.UnpackInts(b); !ok {
			return fmt.Errorf("%s has %d bytes", sumKey, len(b))
		}
	}
	if len(sum) != a.s.Plan.Elements() || protocol.IntDigest(a.digestKey(r.Round), sum) != r.Aggregate {
		return fmt.Errorf("%s: %w: not the aggregate of the result", sumKey, protocol.ErrMismatch)
	}
	chunks, _, err := a.seal(r, sum)
	a.last = append(a.last, chunks...)
	return err
}
