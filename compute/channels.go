package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// keepChannel keeps a party's channel secret of a round.
func (in *intake) keepChannel(party, round uint32, secret *channel.Secret) {
	if !in.keys.Has(party) {
		in.joined++
	}
	in.keys.Add(party, round, secret)
}

// secret returns the secret of a member's channel in the current round, nil if there is none.
func (in *intake) secret(member uint32) *channel.Secret { return in.keys.Secret(member, in.round) }

// forgetChannels deletes the records of all channels, in order: a step is a function of its
// event.
func (n *Node) forgetChannels() {
	for party := range uint32(n.parties) {
		if n.keys.Has(party) {
			n.eff.Delete(protocol.RecordKey("channel", party))
		}
	}
	n.keys.Erase(n.eff)
}

// opened accepts the channel that a party opens. Only the first Open counts: another one would
// change keys under contributions already received.
func (n *Node) opened(e *protocol.Envelope, m *protocol.Open) error {
	if m.To != n.self || !n.s.Plan.Is(e.From, protocol.RoleParty) {
		return fmt.Errorf("%w: an open from %s is not for this node", protocol.ErrUnknown, n.s.Name(e.From))
	}
	digest := m.Digest()
	if n.keys.Has(e.From) {
		if string(n.get(protocol.RecordKey("channel", e.From))) != string(digest[:]) && !n.again {
			return fmt.Errorf("%w: %s opened another channel before", protocol.ErrEquivocate, n.s.Name(e.From))
		}
		return protocol.ErrDuplicate
	}
	if m.Key != protocol.KeyDigest(n.s, n.self, n.planKey.Public()) {
		if n.keyNumber > 1 { // it was made before the key was replaced
			n.eff.Emit(n.s.SubjectKey(n.self), n.keyMsg)
			return protocol.ErrDuplicate
		}
		return fmt.Errorf("%w: %s opened a channel to a key that is not this node's",
			protocol.ErrMismatch, n.s.Name(e.From))
	}
	secret, err := n.cfg.Accept(n.planKey, m.Enc, n.s.ChannelInfo(e.From, n.self, m.Key))
	if err != nil {
		return fmt.Errorf("%w: channel from %s: %w", protocol.ErrSealed, n.s.Name(e.From), err)
	}
	n.keepChannel(e.From, 1, secret)
	n.keyUsed = true
	n.dropKey()
	n.eff.Put(protocol.RecordKey("channel", e.From), digest[:])
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

// aggregatorKey opens this node's channel to the aggregator, which carries its partial sums.
func (n *Node) aggregatorKey(e *protocol.Envelope, m *protocol.Key) error {
	if e.From != n.s.Plan.Aggregator() {
		return nil // another compute node's, for the parties
	}
	if n.agg != nil {
		return protocol.ErrDuplicate
	}
	if n.now/1000 > m.NotAfter {
		return fmt.Errorf("%w: the aggregator's", protocol.ErrKeyExpired)
	}
	kd := protocol.KeyDigest(n.s, e.From, m.Public)
	enc, secret, err := n.cfg.Initiate(n.s.Plan.Suite, m.Public, n.s.ChannelInfo(n.self, e.From, kd))
	if err != nil {
		return fmt.Errorf("channel to the aggregator: %w", err)
	}
	if n.agg, err = n.sign(&protocol.Open{To: e.From, Key: kd, Enc: enc}); err != nil {
		return err
	}
	n.keys.Add(e.From, 1, secret)
	n.eff.Put("aggregator", n.agg)
	n.eff.Emit(n.s.SubjectOpen(n.self, e.From), n.agg)
	n.eff.Note(protocol.Notice{Code: protocol.NoteJoined, Peer: n.s.Name(e.From)})
	return nil
}

// aggregatorSecret returns the secret of the channel to the aggregator in the current round.
func (n *Node) aggregatorSecret() *channel.Secret {
	return n.keys.Secret(n.s.Plan.Aggregator(), n.round)
}

// ownSecret returns this node's own secret of the current round.
func (n *Node) ownSecret() *channel.Secret { return n.keys.Secret(protocol.Own, n.round) }
