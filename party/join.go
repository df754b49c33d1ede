package party

import (
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// key sets up the channel to a compute node or the aggregator: the one
// asymmetric operation per pair and plan.
func (p *Party) key(owner uint32, m *protocol.Key) error {
	kd := protocol.KeyDigest(p.bound, owner, m.Public)
	if have := p.links[owner]; have != nil {
		return p.sameKey(owner, have, kd)
	}
	if p.now/1000 > m.NotAfter {
		return fmt.Errorf("%w: the key of %s", protocol.ErrExpired, p.bound.Name(owner))
	}
	enc, secret, err := p.cfg.Initiate(p.bound.Plan.Suite, m.Public, p.bound.ChannelInfo(p.self, owner, kd))
	if err != nil {
		return fmt.Errorf("%w: key of %s: %w", protocol.ErrMalformed, p.bound.Name(owner), err)
	}
	open, err := p.bound.Sign(p.cfg.Key, p.self, &protocol.Open{To: owner, Key: kd, Enc: enc})
	if err != nil {
		return err
	}
	link := &protocol.Link{Secret: secret, Open: open}
	p.links[owner] = link
	p.eff.Put(fmt.Sprintf("link/%d", owner), protocol.MarshalLink(link))
	p.eff.Emit(p.bound.SubjectOpen(p.self, owner), open)
	p.progress = p.now
	p.eff.Note(protocol.Notice{Code: protocol.NoteJoined, Peer: p.bound.Name(owner), Count: len(p.links), Total: p.computes + 1})
	return nil
}

// sameKey tells a repeated key from a second one: a member that signs two keys
// for one plan, or lost its store, can't be served on the first one's channel.
func (p *Party) sameKey(owner uint32, have *protocol.Link, kd protocol.Digest) error {
	_, m, err := p.bound.Receive(have.Open)
	if err != nil {
		return fmt.Errorf("stored channel to %s: %w", p.bound.Name(owner), err)
	}
	if o, ok := m.(*protocol.Open); !ok || o.Key != kd {
		return fmt.Errorf("%w: %s has another key than before", protocol.ErrEquivocate, p.bound.Name(owner))
	}
	return errDuplicate
}

// groupKey takes in the key under which the aggregator publishes.
func (p *Party) groupKey(m *protocol.Group) error {
	link := p.links[p.bound.Plan.Aggregator()]
	if m.To != p.self || link == nil {
		return fmt.Errorf("%w: a group key that isn't for this party", protocol.ErrUnknown)
	}
	key, err := p.bound.OpenGroup(link.Secret, p.self, m.Sealed)
	if err != nil {
		return err
	}
	if p.group != nil {
		if string(p.group.Bytes()) != string(key) {
			return fmt.Errorf("%w: a second group key", protocol.ErrEquivocate)
		}
		return errDuplicate
	}
	if p.group, err = channel.NewSecret(key); err != nil {
		return err
	}
	p.eff.Put("group", key)
	p.progress = p.now
	p.openBuffered()
	return nil
}
