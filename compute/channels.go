package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// keepChannel stores a party's channel in memory.
func (in *intake) keepChannel(party uint32, secret *channel.Secret) {
	if in.channels[party] == nil {
		in.joined++
	}
	in.channels[party] = secret
}

// channel returns a member's channel, nil if there is none.
func (in *intake) channel(member uint32) *channel.Secret {
	if uint64(member) >= uint64(len(in.channels)) {
		return nil
	}
	return in.channels[member]
}

// forgetChannels deletes the records of all channels, in order: a step is a function of its
// event.
func (in *intake) forgetChannels() {
	for party, secret := range in.channels {
		if secret != nil {
			in.eff.Delete(protocol.RecordKey("channel", uint32(party)))
		}
	}
}

// opened accepts the channel that a party opens. Only the first Open counts: another one would
// change keys under contributions already received.
func (n *Node) opened(e *protocol.Envelope, m *protocol.Open, data []byte) error {
	if m.To != n.self || !n.s.Plan.Is(e.From, protocol.RoleParty) {
		return fmt.Errorf("%w: an open from %s is not for this node", protocol.ErrUnknown, n.s.Name(e.From))
	}
	if n.channels[e.From] != nil {
		if string(n.storedOpen(e.From)) != string(data) {
			return fmt.Errorf("%w: %s opened another channel before", protocol.ErrEquivocate, n.s.Name(e.From))
		}
		return protocol.ErrDuplicate
	}
	if m.Key != protocol.KeyDigest(n.s, n.self, n.planKey.Public()) {
		return fmt.Errorf("%w: %s opened a channel to a key that is not this node's",
			protocol.ErrMismatch, n.s.Name(e.From))
	}
	secret, err := n.cfg.Accept(n.planKey, m.Enc, n.s.ChannelInfo(e.From, n.self, m.Key))
	if err != nil {
		return fmt.Errorf("%w: channel from %s: %w", protocol.ErrSealed, n.s.Name(e.From), err)
	}
	n.keepChannel(e.From, secret)
	link := &protocol.Link{Secret: secret, Open: data}
	n.eff.Put(protocol.RecordKey("channel", e.From), protocol.MarshalLink(link))
	n.eff.Note(protocol.Notice{
		Code:  protocol.NoteJoined,
		Peer:  n.s.Name(e.From),
		Count: n.joined,
		Total: n.parties,
	})
	if n.group != nil {
		return n.sendLink(e.From)
	}
	return nil
}

// storedOpen returns the Open that made a party's channel, from the store.
func (n *Node) storedOpen(party uint32) []byte {
	b := n.get(protocol.RecordKey("channel", party))
	if len(b) < channel.SecretSize {
		return nil
	}
	return b[channel.SecretSize:]
}

// aggregatorKey opens this node's channel to the aggregator, which carries its partial sums.
func (n *Node) aggregatorKey(e *protocol.Envelope, m *protocol.Key) error {
	if e.From != n.s.Plan.Aggregator() {
		return nil // another compute node's, for the parties
	}
	if n.agg != nil {
		return protocol.ErrDuplicate
	}
	if n.now/1000 > m.NotAfter {
		return fmt.Errorf("%w: the aggregator's key", protocol.ErrExpired)
	}
	kd := protocol.KeyDigest(n.s, e.From, m.Public)
	enc, secret, err := n.cfg.Initiate(n.s.Plan.Suite, m.Public, n.s.ChannelInfo(n.self, e.From, kd))
	if err != nil {
		return fmt.Errorf("channel to the aggregator: %w", err)
	}
	open, err := n.sign(&protocol.Open{To: e.From, Key: kd, Enc: enc})
	if err != nil {
		return err
	}
	n.agg = &protocol.Link{Secret: secret, Open: open}
	n.eff.Put("aggregator", protocol.MarshalLink(n.agg))
	n.eff.Emit(n.s.SubjectOpen(n.self, e.From), open)
	n.eff.Note(protocol.Notice{Code: protocol.NoteJoined, Peer: n.s.Name(e.From)})
	return nil
}
