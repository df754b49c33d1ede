package aggregator

import (
	"bytes"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// opened accepts a member's channel and answers a party with the group key; a repeated Open
// gets the same answer. Compute nodes get no group key: nothing that they need is sealed
// under it.
func (a *Aggregator) opened(e *protocol.Envelope, m *protocol.Open, data []byte) error {
	if m.To != a.self {
		return fmt.Errorf("%w: an open from %s is not for the aggregator", protocol.ErrUnknown, a.s.Name(e.From))
	}
	if have := a.links[e.From]; have != nil {
		if !bytes.Equal(a.storedOpen(e.From), data) {
			return fmt.Errorf("%w: %s opened another channel before", protocol.ErrEquivocate, a.s.Name(e.From))
		}
		if err := a.sendGroup(e.From, have); err != nil {
			return err
		}
		return protocol.ErrDuplicate
	}
	if m.Key != protocol.KeyDigest(a.s, a.self, a.planKey.Public()) {
		return fmt.Errorf("%w: %s opened a channel to a key that is not the aggregator's",
			protocol.ErrMismatch, a.s.Name(e.From))
	}
	secret, err := a.cfg.Accept(a.planKey, m.Enc, a.s.ChannelInfo(e.From, a.self, m.Key))
	if err != nil {
		return fmt.Errorf("%w: channel from %s: %w", protocol.ErrSealed, a.s.Name(e.From), err)
	}
	link := &protocol.Link{Secret: secret}
	a.keepLink(e.From, link)
	stored := &protocol.Link{Secret: secret, Open: data}
	a.eff.Put(fmt.Sprintf("channel/%d", e.From), protocol.MarshalLink(stored))
	a.record(data)
	a.seen = a.now
	a.eff.Note(protocol.Notice{
		Code:  protocol.NoteJoined,
		Peer:  a.s.Name(e.From),
		Count: len(a.links),
		Total: a.parties + a.nodes,
	})
	return a.sendGroup(e.From, link)
}

func (a *Aggregator) keepLink(from uint32, link *protocol.Link) {
	a.links[from] = link
	if a.s.Plan.Is(from, protocol.RoleParty) {
		a.joined++
	} else {
		a.nodeKeys[from] = newRatchet(link.Secret)
	}
}

// storedOpen returns the Open that made a member's channel.
func (a *Aggregator) storedOpen(from uint32) []byte {
	b := protocol.StepView{View: a.view, Step: a.eff}.Get(fmt.Sprintf("channel/%d", from))
	if len(b) < channel.SecretSize {
		return nil
	}
	return b[channel.SecretSize:]
}

func (a *Aggregator) sendGroup(to uint32, link *protocol.Link) error {
	if !a.s.Plan.Is(to, protocol.RoleParty) {
		return nil
	}
	o, err := a.groupFor(to, link)
	if err == nil {
		a.eff.Send = append(a.eff.Send, o)
	}
	return err
}

// groupFor returns the message with a party's group key. It is signed once: all parties get
// it again when the session ends.
func (a *Aggregator) groupFor(to uint32, link *protocol.Link) (protocol.Outgoing, error) {
	o := protocol.Outgoing{Subject: a.s.SubjectGroup(to), Data: a.groupMsgs[to]}
	if o.Data != nil {
		return o, nil
	}
	sealed, err := a.s.SealGroup(link.Secret, to, a.group.Bytes())
	if err != nil {
		return o, err
	}
	if o.Data, err = a.sign(&protocol.Group{To: to, Sealed: sealed}); err == nil {
		a.groupMsgs[to] = o.Data
	}
	return o, err
}

// keepGroupKeys adds every party's group key to the last messages: after the aggregator has
// ended a lost one cannot be requested, and a party needs it to open the results.
func (a *Aggregator) keepGroupKeys() error {
	for i := range uint32(a.parties) {
		if a.links[i] == nil {
			continue
		}
		o, err := a.groupFor(i, a.links[i])
		if err != nil {
			return err
		}
		a.sendKept(o)
	}
	return nil
}

// ready reports whether the first round may open: all nodes have joined, and all parties, or
// N_min of them after the deadline.
func (a *Aggregator) ready() bool {
	late := a.now >= a.startedAt+int64(a.s.Plan.DeadlineMS)
	nodes := len(a.links) - a.joined
	return nodes == a.nodes && (a.joined == a.parties || (late && a.joined >= int(a.s.Plan.MinParties)))
}
