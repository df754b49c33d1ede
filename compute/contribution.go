package compute

import (
	"bytes"
	"errors"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// contribution is what has arrived from one party in the current attempt. There is one per
// party of the plan, so a complete one keeps no more in memory than this struct.
type contribution struct {
	bundle  protocol.Digest // of the head; zero before it arrives
	salt    protocol.Salt   // of the chunks and the head, once one has arrived
	parts   *parts          // nil when nothing has arrived and when it is complete
	blind   *commit.Scalar  // this node's share of the blinding; nil without audit
	whole   bool            // complete, checked, and in the sum or pending
	refused bool            // its parts contradict each other: out of this attempt
}

// parts are the pieces of an incomplete contribution.
type parts struct {
	head   *protocol.Contribution // nil before it arrives
	chunks []protocol.Digest      // of the chunks in the sum, zero for the others; explicit node only
	count  int                    // of chunks in the sum
}

// party returns the contribution of a party with a channel, and the channel.
func (in *intake) party(i uint32) (*contribution, *channel.Secret, error) {
	secret := in.secret(i)
	if secret == nil {
		return nil, nil, fmt.Errorf("%w: %s has no channel to this node yet", protocol.ErrEarly, in.s.Name(i))
	}
	return &in.contributions[i], secret, nil
}

// have returns a member's contribution to the current attempt, an empty one for a member
// that is not a party.
func (in *intake) have(member uint32) *contribution {
	if uint64(member) >= uint64(len(in.contributions)) {
		return new(contribution)
	}
	return &in.contributions[member]
}

// acceptChunk adds a sealed chunk of an explicit share to the sum at once: its channel
// authenticates the party, and the signed contribution that follows decides whether it stays.
func (in *intake) acceptChunk(c *protocol.Chunk, data []byte) error {
	if c.To != in.self || c.Purpose != protocol.PurposeShare {
		return fmt.Errorf("%w: a chunk that is not for this node", protocol.ErrUnknown)
	}
	if err := in.checkAttempt(c.Round, c.Attempt); err != nil {
		return err
	}
	if !in.open {
		return protocol.ErrDuplicate // too late for this attempt
	}
	return in.earlier(in.addChunk(c, data, true))
}

// earlier is the error for a message that does not open. After a plan key was replaced, the party may
// have sent it before it set up its channel again.
func (in *intake) earlier(err error) error {
	if in.again && errors.Is(err, protocol.ErrSealed) {
		return fmt.Errorf("%w: perhaps of before the party set up its channel again", protocol.ErrStale)
	}
	return err
}

func (in *intake) addChunk(c *protocol.Chunk, data []byte, persist bool) error {
	if in.explicitNode(c.From) != in.k {
		return fmt.Errorf("%w: %s's explicit share is not this node's", protocol.ErrMismatch, in.s.Name(c.From))
	}
	p, secret, err := in.party(c.From)
	if err != nil {
		return err
	}
	if p.refused {
		return protocol.ErrDuplicate
	}
	if chunks := in.s.Chunks(); uint64(c.Index) >= uint64(chunks) {
		return fmt.Errorf("%w: chunk %d of %d", protocol.ErrMalformed, c.Index, chunks)
	}
	if p.whole {
		return in.checkChunkRepeat(secret, c, data)
	}
	if p.parts == nil {
		p.parts = new(parts)
	}
	if p.parts.chunks == nil {
		p.parts.chunks = make([]protocol.Digest, in.s.Chunks())
	}
	if in.chunkHash == nil {
		in.chunkHash = protocol.NewChunkHash()
	}
	d := in.chunkHash.Digest(c.Ciphertext)
	have := &p.parts.chunks[c.Index]
	if *have == d {
		return protocol.ErrDuplicate
	}
	// Opening comes before the accusation: only the party can have sealed the chunk.
	plain, err := in.openShare(secret, c)
	if err != nil {
		return err
	}
	if *have != (protocol.Digest{}) || p.parts.count > 0 && c.Salt != p.salt {
		return in.chunkEquivocation(c)
	}
	if err := xof.Chunk(in.sum, uint64(c.Index)).AddEncoded(plain); err != nil {
		return fmt.Errorf("%w: chunk %d of %s: %w", protocol.ErrMalformed, c.Index, in.s.Name(c.From), err)
	}
	*have = d
	p.salt = c.Salt
	p.parts.count++
	if persist {
		in.eff.Put(in.shareKey(c.From, c.Index), data)
	}
	return in.finishContribution(c.From, p, secret)
}

// checkChunkRepeat refuses a chunk of a complete contribution: it is either a duplicate of
// the stored one, or evidence that the party sent two.
func (in *intake) checkChunkRepeat(secret *channel.Secret, c *protocol.Chunk, data []byte) error {
	have := in.get(in.shareKey(c.From, c.Index))
	if have == nil || bytes.Equal(have, data) { // the party does not answer for a record that is missing
		return protocol.ErrDuplicate
	}
	if _, err := in.openShare(secret, c); err != nil {
		return err
	}
	return in.chunkEquivocation(c)
}

func (in *intake) chunkEquivocation(c *protocol.Chunk) error {
	return fmt.Errorf("%w: chunk %d of %s", protocol.ErrEquivocate, c.Index, in.s.Name(c.From))
}

// openShare opens a chunk into a buffer that the next call overwrites.
func (in *intake) openShare(secret *channel.Secret, c *protocol.Chunk) ([]byte, error) {
	if in.plain == nil {
		in.plain = make([]byte, 0, in.s.ChunkLen(0)*field.ElementSize)
	}
	return in.s.OpenChunkTo(in.plain, secret, c)
}

// explicitNode returns the number of the node that receives a party's explicit share in the
// current round.
func (in *intake) explicitNode(party uint32) int {
	return share.ExplicitIndex(int(party), int(in.round), in.nodes)
}

// contribution accepts the signed head of a contribution.
func (in *intake) contribution(from uint32, m *protocol.Contribution, data []byte) error {
	if err := in.checkAttempt(m.Round, m.Attempt); err != nil {
		return err
	}
	manifest, err := m.ManifestDigest(in.s, from)
	if err != nil {
		return err
	}
	bundle, err := m.BundleOf(in.s, from, manifest)
	if err != nil {
		return err
	}
	if p := in.have(from); p.whole || p.refused || p.parts != nil && p.parts.head != nil {
		return in.checkRepeat(from, p, bundle)
	}
	if !in.open {
		return protocol.ErrDuplicate
	}
	p, secret, err := in.party(from)
	if err != nil {
		return err
	}
	if err := in.checkHead(from, m, manifest, secret); err != nil {
		return in.earlier(err)
	}
	if p.blind, err = in.blinding(from, m, secret); err != nil {
		return err
	}
	if p.parts == nil {
		p.parts = new(parts)
	}
	p.parts.head = m
	p.bundle = bundle
	if p.parts.count == 0 {
		p.salt = m.Salt
	}
	in.eff.Put(in.commitKey(from), data)
	return in.finishContribution(from, p, secret)
}

// checkRepeat refuses another contribution of a party. The party of a complete one that
// retransmits it has lost its receipt, and gets another.
func (in *intake) checkRepeat(from uint32, p *contribution, bundle protocol.Digest) error {
	if bundle != p.bundle {
		return fmt.Errorf("%w: %s contributed something else before", protocol.ErrEquivocate, in.s.Name(from))
	}
	if p.whole {
		in.complete(from, true)
	}
	return protocol.ErrDuplicate
}

func (in *intake) checkHead(
	from uint32, m *protocol.Contribution, manifest protocol.Digest, secret *channel.Secret,
) error {
	switch {
	case m.Last != in.lastResult:
		return fmt.Errorf("%w: %s contributed after another result", protocol.ErrMismatch, in.s.Name(from))
	case m.Model != in.model:
		return fmt.Errorf("%w: %s contributed to another model", protocol.ErrMismatch, in.s.Name(from))
	case int(m.Explicit) != in.explicitNode(from):
		return fmt.Errorf("%w: %s's explicit share goes to node %d, not %d",
			protocol.ErrMismatch, in.s.Name(from), in.explicitNode(from), m.Explicit)
	case len(m.Confirm) != in.nodes:
		return fmt.Errorf("%w: %d confirmations for %d nodes", protocol.ErrMismatch, len(m.Confirm), in.nodes)
	}
	if in.s.Confirm(secret, m.Context(from, in.self), manifest) != m.Confirm[in.k] {
		return fmt.Errorf("%w: %s derives other keys than this node", protocol.ErrSealed, in.s.Name(from))
	}
	return nil
}

// blinding opens this node's share of the blinding scalar; nil without audit.
func (in *intake) blinding(
	from uint32, m *protocol.Contribution, secret *channel.Secret,
) (*commit.Scalar, error) {
	if err := in.s.CheckAudit(m); err != nil || !in.s.Plan.Audit {
		return nil, err
	}
	return in.s.OpenBlinding(secret, m.Context(from, in.self), m.Blinding[in.k])
}

// mask returns the keystream of a party's share, which is derived from a seed.
func (in *intake) mask(from uint32, p *contribution, secret *channel.Secret) (*xof.Stream, error) {
	m := &protocol.Contribution{Round: in.round, Attempt: in.attempt, Salt: p.salt}
	return in.s.Mask(secret, m.Context(from, in.self))
}

// finishContribution completes a contribution when its head and, at the explicit node, all
// its chunks have arrived.
func (in *intake) finishContribution(from uint32, p *contribution, secret *channel.Secret) error {
	if p.whole || p.refused || p.parts == nil || p.parts.head == nil {
		return nil
	}
	if in.explicitNode(from) == in.k {
		if p.parts.count < in.s.Chunks() {
			return nil
		}
		if protocol.ChunkList(p.parts.chunks) != p.parts.head.Vector || p.salt != p.parts.head.Salt {
			if err := in.refuse(from, p); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s signed another explicit share than it sent",
				protocol.ErrMismatch, in.s.Name(from))
		}
	} else if err := in.addSeed(from, p, secret); err != nil {
		return err
	}
	in.setComplete(from, p)
	return nil
}

func (in *intake) setComplete(from uint32, p *contribution) {
	p.whole = true
	p.parts = nil
	in.count++
	in.complete(from, false)
}

// reach returns the number of entries, from the front, that this node has. It keeps what it
// has, so a list is walked once however many messages arrive.
func (in *intake) reach(entries []protocol.Entry) int {
	for i, e := range entries {
		if c := in.have(e.Party); !c.whole || c.bundle != e.Bundle {
			return i
		}
	}
	return len(entries)
}

func (in *intake) shareKey(party, chunk uint32) string {
	return protocol.RecordKey("share", in.round, in.attempt, party, chunk)
}

func (in *intake) commitKey(party uint32) string {
	return protocol.RecordKey("commit", in.round, in.attempt, party)
}
