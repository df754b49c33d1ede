package aggregator

import (
	"fmt"
	"strconv"

	"choir/crypto/parallel"
	"choir/crypto/xof"
	"choir/protocol"
)

// publish signs a result and seals the aggregate for the members.
func (a *Aggregator) publish(r *protocol.Result, sum []int64) error {
	head, err := a.sign(r)
	if err != nil {
		return err
	}
	a.record(head)
	for i := range a.last {
		a.eff.Delete(lastKey(i))
	}
	a.last = nil
	a.say(protocol.Outgoing{Subject: a.s.SubjectResult(r.Round, r.Attempt, "head"), Data: head})
	if sum == nil {
		return nil
	}
	c := protocol.Context{From: a.self, To: protocol.Everyone, Round: r.Round, Attempt: r.Attempt, Purpose: protocol.PurposeResult}
	sealer, err := a.s.Sealer(a.group, c)
	if err != nil {
		return err
	}
	messages := make([][]byte, a.s.Chunks())
	parallel.Do(len(messages), func(i int) {
		lo := i * xof.ChunkElements
		messages[i], _ = sealer.Seal(i, func(plain []byte) { protocol.AppendInts(plain[:0], sum[lo:lo+a.s.ChunkLen(i)]) })
	})
	for i, b := range messages {
		a.say(protocol.Outgoing{Subject: a.s.SubjectResult(r.Round, r.Attempt, strconv.Itoa(i)), Data: b})
	}
	return nil
}

// say sends a message of the last result, and keeps it, one record a message, to say
// it again.
func (a *Aggregator) say(o protocol.Outgoing) {
	a.eff.Put(lastKey(len(a.last)), o.Data)
	a.eff.Send = append(a.eff.Send, o)
	a.last = append(a.last, o)
}

func lastKey(i int) string { return fmt.Sprintf("last/%08d", i) }

// lastSubject is the subject that a message of the last result was sent on.
func (a *Aggregator) lastSubject(data []byte) (string, error) {
	if protocol.IsChunk(data) {
		c, err := protocol.ViewChunk(data)
		if err != nil {
			return "", err
		}
		return a.s.SubjectResult(c.Round, c.Attempt, strconv.Itoa(int(c.Index))), nil
	}
	_, m, err := a.s.Receive(data)
	if err != nil {
		return "", err
	}
	switch m := m.(type) {
	case *protocol.Result:
		return a.s.SubjectResult(m.Round, m.Attempt, "head"), nil
	case *protocol.Group:
		return a.s.SubjectGroup(m.To), nil
	case *protocol.Abort:
		return a.s.SubjectControl(), nil
	}
	return "", fmt.Errorf("a %T isn't a part of a result", m)
}
