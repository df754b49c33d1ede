package party

import (
	"bytes"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// key sets up the channel to a compute node or the aggregator: the one asymmetric operation
// for each pair and plan.
func (p *Party) key(owner uint32, m *protocol.Key) error {
	digest := protocol.KeyDigest(p.bound, owner, m.Public)
	if link := p.links[owner]; link != nil {
		return p.checkSameKey(owner, link, digest)
	}
	if p.now/1000 > m.NotAfter {
		return fmt.Errorf("%w: the key of %s", protocol.ErrExpired, p.bound.Name(owner))
	}
	enc, secret, err := p.cfg.Initiate(p.bound.Plan.Suite, m.Public, p.bound.ChannelInfo(p.self, owner, digest))
	if err != nil {
		return fmt.Errorf("%w: key of %s: %w", protocol.ErrMalformed, p.bound.Name(owner), err)
	}
	open, err := p.bound.Sign(p.cfg.Key, p.self, &protocol.Open{To: owner, Key: digest, Enc: enc})
	if err != nil {
		return err
	}
	link := &protocol.Link{Secret: secret, Open: open}
	p.links[owner] = link
	p.eff.Put(fmt.Sprintf("link/%d", owner), protocol.MarshalLink(link))
	p.eff.Emit(p.bound.SubjectOpen(p.self, owner), open)
	p.progress = p.now
	p.eff.Note(protocol.Notice{
		Code:  protocol.NoteJoined,
		Peer:  p.bound.Name(owner),
		Count: len(p.links),
		Total: p.computes + 1,
	})
	return nil
}

// checkSameKey rejects a second key of a member. A member that signs two keys for one plan,
// or that lost its store, cannot be served on the channel of the first.
func (p *Party) checkSameKey(owner uint32, link *protocol.Link, digest protocol.Digest) error {
	_, m, err := p.bound.Receive(link.Open)
	if err != nil {
		return fmt.Errorf("stored channel to %s: %w", p.bound.Name(owner), err)
	}
	if o, ok := m.(*protocol.Open); !ok || o.Key != digest {
		return fmt.Errorf("%w: %s has another key than before", protocol.ErrEquivocate, p.bound.Name(owner))
	}
	return protocol.ErrDuplicate
}

// groupKey accepts the key under which the aggregator publishes.
func (p *Party) groupKey(m *protocol.Group) error {
	link := p.links[p.bound.Plan.Aggregator()]
	if m.To != p.self || link == nil {
		return fmt.Errorf("%w: a group key that is not for this party", protocol.ErrUnknown)
	}
	key, err := p.bound.OpenGroup(link.Secret, p.self, m.Sealed)
	if err != nil {
		return err
	}
	if p.group != nil {
		if !bytes.Equal(p.group.Bytes(), key) {
			return fmt.Errorf("%w: a second group key", protocol.ErrEquivocate)
		}
		return protocol.ErrDuplicate
	}
	if p.group, err = channel.NewSecret(key); err != nil {
		return err
	}
	p.setModelDigest()
	p.eff.Put("group", key)
	p.progress = p.now
	p.openBuffered()
	return nil
}
