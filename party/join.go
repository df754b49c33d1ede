package party

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/protocol"
)

// link is this party's end of a channel. The secret is in the keyring.
type link struct {
	number uint32            // of the owner's key
	keys   []protocol.Digest // of all keys to which this party has signed an Open, the owner's key last
	open   []byte            // the signed Open that set it up
}

// The stored form of a link is u32 number | u32 keys | keys* 32 | Open.

func (l *link) marshal() []byte {
	b := binary.BigEndian.AppendUint32(nil, l.number)
	b = binary.BigEndian.AppendUint32(b, uint32(len(l.keys)))
	for _, d := range l.keys {
		b = append(b, d[:]...)
	}
	return append(b, l.open...)
}

func unmarshalLink(b []byte) (*link, error) {
	const head, size = 8, len(protocol.Digest{})
	if len(b) < head || uint64(binary.BigEndian.Uint32(b[4:]))*uint64(size) > uint64(len(b)-head) {
		return nil, fmt.Errorf("stored channel has %d bytes", len(b))
	}
	l := &link{number: binary.BigEndian.Uint32(b)}
	keys, open := b[head:], b[head+int(binary.BigEndian.Uint32(b[4:]))*size:]
	for ; len(keys) > len(open); keys = keys[size:] {
		l.keys = append(l.keys, protocol.Digest(keys))
	}
	l.open = bytes.Clone(open)
	return l, nil
}

// key sets up the channel to a compute node or the aggregator: the one asymmetric operation
// for each pair and plan. If a node replaced its key before it had this party's Open, the channel is
// set up again, but never twice to one key: two Opens to it would contradict each other.
func (p *Party) key(owner uint32, m *protocol.Key) error {
	digest := protocol.KeyDigest(p.bound, owner, m.Public)
	before := p.links[owner]
	switch {
	case before != nil && m.Number == before.number:
		return p.checkSameKey(owner, before, digest)
	case before != nil && (m.Number < before.number || !m.IsFor(p.self)):
		return protocol.ErrDuplicate
	case before != nil && owner == p.bound.Plan.Aggregator():
		return fmt.Errorf("%w: the aggregator replaced its key, which it never does", protocol.ErrEquivocate)
	case before != nil && slices.Contains(before.keys, digest):
		return fmt.Errorf("%w: %s gives a key a second number", protocol.ErrEquivocate, p.bound.Name(owner))
	case !m.IsFor(p.self):
		return fmt.Errorf("%w: %s has a channel of this party, whose store has none: the store was lost or "+
			"rolled back", protocol.ErrMismatch, p.bound.Name(owner))
	case p.now/1000 > m.NotAfter:
		return fmt.Errorf("%w: that of %s", protocol.ErrKeyExpired, p.bound.Name(owner))
	}
	enc, secret, err := p.cfg.Initiate(p.bound.Plan.Suite, m.Public, p.bound.ChannelInfo(p.self, owner, digest))
	if err != nil {
		return fmt.Errorf("%w: key of %s: %w", protocol.ErrMalformed, p.bound.Name(owner), err)
	}
	open, err := p.bound.Sign(p.cfg.Key, p.self, &protocol.Open{To: owner, Key: digest, Enc: enc})
	if err != nil {
		return err
	}
	keys := []protocol.Digest{digest}
	if before != nil {
		keys = slices.Concat(before.keys, keys)
		p.giveUpSending()
	}
	p.links[owner] = &link{m.Number, keys, open}
	p.keys.Add(owner, 1, secret)
	p.eff.Put(fmt.Sprintf("link/%d", owner), p.links[owner].marshal())
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

// linked reports whether this party has a channel to each node to which it has set up one, as far as
// the nodes' Confirms of the last result tell.
func (p *Party) linked() bool {
	for node, number := range p.needs {
		if l := p.links[node]; l != nil && l.number < number {
			return false
		}
	}
	return true
}

// noteKeys notes which nodes have no channel of this party after a round, by their Confirms.
func (p *Party) noteKeys(confirms map[uint32]*protocol.Confirm) {
	for k := range p.computes {
		if node := p.compute(k); confirms[node].Excludes(p.self) {
			p.needs[node] = confirms[node].Key
			p.eff.Put(fmt.Sprintf("needs/%d", node), binary.BigEndian.AppendUint32(nil, p.needs[node]))
		}
	}
}

// checkSameKey rejects a second key with the same number. A member that signs two keys for one plan,
// or that lost its store, cannot be served on the channel of the first.
func (p *Party) checkSameKey(owner uint32, l *link, digest protocol.Digest) error {
	_, m, err := p.bound.Receive(l.open)
	if err != nil {
		return fmt.Errorf("stored channel to %s: %w", p.bound.Name(owner), err)
	}
	if o, ok := m.(*protocol.Open); !ok || o.Key != digest {
		return fmt.Errorf("%w: %s has another key than before", protocol.ErrEquivocate, p.bound.Name(owner))
	}
	return protocol.ErrDuplicate
}

// giveUpSending ends the sending of the contribution, for good: with another channel its bytes would be
// others, under keys that have sealed it before. A node that had no channel did not count it; if all
// have it nevertheless, it can still be settled.
func (p *Party) giveUpSending() {
	switch {
	case p.own == nil:
	case p.own.manifest == nil:
		p.own = nil
		p.deleteContribution()
	default:
		p.own.final = true
		p.own.out = nil
		p.eff.Replace("outbox", nil)
	}
}

// groupKey accepts the key under which the aggregator publishes. The channel to the aggregator has no
// other use, so its secret is dropped.
func (p *Party) groupKey(m *protocol.Group) error {
	aggregator := p.bound.Plan.Aggregator()
	if m.To != p.self || p.links[aggregator] == nil {
		return fmt.Errorf("%w: a group key that is not for this party", protocol.ErrUnknown)
	}
	if p.group != nil {
		if !bytes.Equal(p.group, m.Sealed) {
			return fmt.Errorf("%w: a second group key", protocol.ErrEquivocate)
		}
		return protocol.ErrDuplicate
	}
	key, err := p.bound.OpenGroup(p.keys.Secret(aggregator, p.keys.Round()), p.self, m.Sealed)
	if err != nil {
		return err
	}
	group, err := channel.NewSecret(key)
	if err != nil {
		return err
	}
	digests := p.bound.DigestSecret(group)
	secret, err := channel.NewSecret(digests[:])
	if err != nil {
		return err
	}
	p.group = m.Sealed
	p.keys.Add(protocol.Everyone, 1, group)
	p.keys.Add(protocol.Digests, 1, secret)
	p.keys.Drop(aggregator)
	p.setModelDigest()
	p.eff.Put("group", p.group)
	p.progress = p.now
	for _, r := range p.results {
		p.openBuffered(r)
	}
	return nil
}
