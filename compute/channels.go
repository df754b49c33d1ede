package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// opened accepts the channel that a party sets up. The first Open counts: a
// second, different one would change keys under contributions already taken in.
func (n *Node) opened(e *protocol.Envelope, m *protocol.Open, data []byte) error {
	if m.To != n.self || !n.s.Plan.Is(e.From, protocol.RoleParty) {
		return fmt.Errorf("%w: an open from %s isn't for this node", protocol.ErrUnknown, n.s.Name(e.From))
	}
	if n.channels[e.From] != nil {
		if string(n.storedOpen(e.From)) != string(data) {
			return fmt.Errorf("%w: %s opened another channel before", protocol.ErrEquivocate, n.s.Name(e.From))
		}
		return errDuplicate
	}
	if m.Key != protocol.KeyDigest(n.s, n.self, n.planKey.Public()) {
		return fmt.Errorf("%w: %s opened a channel to a key that isn't this node's", protocol.ErrMismatch, n.s.Name(e.From))
	}
	secret, err := n.cfg.Accept(n.planKey, m.Enc, n.s.ChannelInfo(e.From, n.self, m.Key))
	if err != nil {
		return fmt.Errorf("%w: channel from %s: %w", protocol.ErrSealed, n.s.Name(e.From), err)
	}
	n.keepChannel(e.From, secret)
	n.eff.Put(protocol.RecordKey("channel", e.From), protocol.MarshalLink(&protocol.Link{Secret: secret, Open: data}))
	n.eff.Note(protocol.Notice{Code: protocol.NoteJoined, Peer: n.s.Name(e.From), Count: n.joined, Total: n.n})
	if n.group != nil {
		return n.tellLink(e.From)
	}
	return nil
}

// keepChannel enters a party's channel.
func (n *Node) keepChannel(party uint32, secret *channel.Secret) {
	if n.channels[party] == nil {
		n.joined++
	}
	n.channels[party] = secret
}

// channel is a member's channel, nil when there is none.
func (n *Node) channel(member uint32) *channel.Secret {
	if uint64(member) >= uint64(len(n.channels)) {
		return nil
	}
	return n.channels[member]
}

// forgetChannels deletes all channels' records.
func (n *Node) forgetChannels() {
	for party, secret := range n.channels { // in order: a step is a function of its event
		if secret != nil {
			n.eff.Delete(protocol.RecordKey("channel", uint32(party)))
		}
	}
}

// storedOpen is the Open that made a party's channel; it stays on disk.
func (n *Node) storedOpen(party uint32) []byte {
	b := n.get(protocol.RecordKey("channel", party))
	if len(b) < channel.SecretSize {
		return nil
	}
	return b[channel.SecretSize:]
}

// aggregatorKey sets up this node's channel to the aggregator, which will
// carry its partial sums.
func (n *Node) aggregatorKey(e *protocol.Envelope, m *protocol.Key) error {
	if e.From != n.s.Plan.Aggregator() {
		return nil // another compute node's: meant for the parties
	}
	if n.agg != nil {
		return errDuplicate
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
