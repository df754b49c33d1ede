package compute

import (
	"bytes"
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// contribution is what one party sent in the current attempt; the zero value is one of
// which nothing is here. A node remembers as many as there are parties, so that once it is
// whole no more of it is in memory than this.
type contribution struct {
	bundle  protocol.Digest // once its head is here
	parts   *parts          // what is here of one that isn't whole
	blind   *commit.Scalar  // this node's share, audit mode only
	whole   bool            // everything is here, checked, and in acc or in pending
	refused bool            // what came contradicts what was signed
}

// parts are what a contribution is put together from.
type parts struct {
	head   *protocol.Contribution // nil before it came
	chunks []protocol.Digest      // taken into acc, zero for those that weren't; explicit node only
	count  int                    // of chunks taken in
}

// party finds the current attempt's entry of a party with a channel.
func (n *Node) party(i uint32) (*contribution, *channel.Secret, error) {
	secret := n.channel(i)
	if secret == nil {
		return nil, nil, fmt.Errorf("%w: %s has no channel to this node yet", protocol.ErrEarly, n.s.Name(i))
	}
	return &n.at.parties[i], secret, nil
}

// have is what is here of a member's contribution to the current attempt: nothing, if it
// can't have any.
func (n *Node) have(member uint32) *contribution {
	if uint64(member) >= uint64(len(n.at.parties)) {
		return new(contribution)
	}
	return &n.at.parties[member]
}

// when refuses what isn't for the open attempt, before anything is opened.
func (n *Node) when(round, attempt uint32) error {
	a := &n.at
	switch {
	case round > a.round || (round == a.round && attempt > a.attempt):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEarly, round, attempt)
	case round < a.round || attempt < a.attempt:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, round, attempt)
	}
	return nil
}

// chunk takes in one sealed piece of an explicit share. It is added to the sum
// at once: its channel authenticates the party, and the signed contribution
// that follows decides whether it stays.
func (n *Node) chunk(data []byte) error {
	c, err := protocol.ViewChunk(data)
	if err != nil {
		return err
	}
	if n.group != nil {
		return fmt.Errorf("%w: a chunk, which is for a worker", protocol.ErrUnknown)
	}
	return n.sealed(c, data)
}

// sealed takes in a chunk of any party.
func (n *Node) sealed(c *protocol.Chunk, data []byte) error {
	if c.To != n.self || c.Purpose != protocol.PurposeShare {
		return fmt.Errorf("%w: a chunk that isn't for this node", protocol.ErrUnknown)
	}
	if err := n.when(c.Round, c.Attempt); err != nil {
		return err
	}
	if n.at.phase != collecting {
		return errDuplicate // late: what the party sent stays out of this attempt
	}
	return n.addChunk(c, data, true)
}

func (n *Node) addChunk(c *protocol.Chunk, data []byte, persist bool) error {
	if n.explicitNode(c.From) != n.k {
		return fmt.Errorf("%w: %s's explicit share isn't this node's", protocol.ErrMismatch, n.s.Name(c.From))
	}
	p, secret, err := n.party(c.From)
	if err != nil {
		return err
	}
	if p.refused {
		return errDuplicate
	}
	if chunks := n.s.Chunks(); uint64(c.Index) >= uint64(chunks) {
		return fmt.Errorf("%w: chunk %d of %d", protocol.ErrMalformed, c.Index, chunks)
	}
	if p.whole {
		return n.chunkAgain(secret, c, data)
	}
	if p.parts == nil {
		p.parts = new(parts)
	}
	if p.parts.chunks == nil {
		p.parts.chunks = make([]protocol.Digest, n.s.Chunks())
	}
	if n.chunkSum == nil {
		n.chunkSum = protocol.NewChunkHash()
	}
	d := n.chunkSum.Digest(c.Ciphertext)
	have := &p.parts.chunks[c.Index]
	if *have == d {
		return errDuplicate
	}
	plain, err := n.openShare(secret, c) // before anybody is accused: only the party can have sealed it
	if err != nil {
		return err
	}
	if *have != (protocol.Digest{}) {
		return n.sentTwice(c)
	}
	if err := xof.Chunk(n.at.acc, uint64(c.Index)).AddEncoded(plain); err != nil {
		return n.malformed(c, err)
	}
	*have = d
	p.parts.count++
	if persist {
		n.eff.Put(n.shareKey(c.From, c.Index), data)
	}
	return n.settleContribution(c.From, p, secret)
}

// chunkAgain refuses a chunk of a contribution that is whole: it is the one that is on disk,
// or one with which the party contradicts itself.
func (n *Node) chunkAgain(secret *channel.Secret, c *protocol.Chunk, data []byte) error {
	have := n.get(n.shareKey(c.From, c.Index))
	if have == nil || bytes.Equal(have, data) { // a store that lost it is nobody else's doing
		return errDuplicate
	}
	if _, err := n.openShare(secret, c); err != nil {
		return err
	}
	return n.sentTwice(c)
}

func (n *Node) sentTwice(c *protocol.Chunk) error {
	return fmt.Errorf("%w: chunk %d of %s", protocol.ErrEquivocate, c.Index, n.s.Name(c.From))
}

// openShare opens a chunk into a buffer that the next one overwrites.
func (n *Node) openShare(secret *channel.Secret, c *protocol.Chunk) ([]byte, error) {
	if n.scratch == nil {
		n.scratch = make([]byte, 0, n.s.ChunkLen(0)*field.ElementSize)
	}
	return n.s.OpenChunkTo(n.scratch, secret, c)
}

func (n *Node) malformed(c *protocol.Chunk, err error) error {
	return fmt.Errorf("%w: chunk %d of %s: %w", protocol.ErrMalformed, c.Index, n.s.Name(c.From), err)
}

// explicitNode is which node receives a party's explicit share this round.
func (n *Node) explicitNode(party uint32) int {
	return share.ExplicitIndex(int(party), int(n.at.round), n.m)
}

// contribution takes in a party's signed account of what it sent.
func (n *Node) contribution(from uint32, m *protocol.Contribution, data []byte) error {
	if err := n.when(m.Round, m.Attempt); err != nil {
		return err
	}
	account, err := m.ManifestDigest(n.s, from)
	if err != nil {
		return err
	}
	bundle, err := m.BundleOf(n.s, from, account)
	if err != nil {
		return err
	}
	if p := n.have(from); p.whole || p.refused || p.parts != nil && p.parts.head != nil {
		return n.again(from, p, bundle)
	}
	if n.at.phase != collecting {
		return errDuplicate
	}
	p, secret, err := n.party(from)
	if err != nil {
		return err
	}
	if err := n.checkHead(from, m, account, secret); err != nil {
		return err
	}
	if p.blind, err = n.blinding(from, m, secret); err != nil {
		return err
	}
	if p.parts == nil {
		p.parts = new(parts)
	}
	p.parts.head, p.bundle = m, bundle
	n.eff.Put(n.commitKey(from), data)
	return n.settleContribution(from, p, secret)
}

// again answers a repeated contribution: with the receipt when it is whole, so
// that a party whose receipt was lost can stop sending.
func (n *Node) again(from uint32, p *contribution, bundle protocol.Digest) error {
	if bundle != p.bundle {
		return fmt.Errorf("%w: %s contributed something else before", protocol.ErrEquivocate, n.s.Name(from))
	}
	switch {
	case n.worker != nil && p.whole:
		n.worker.held(from)
	case p.whole:
		n.oweReceipt(from, p)
	}
	return errDuplicate
}

// oweReceipt notes the receipt for a contribution that is whole. None is kept once it
// was given: a party that lost it asks for another, whatever that one is signed with.
func (n *Node) oweReceipt(from uint32, p *contribution) {
	n.at.receipts = append(n.at.receipts, &protocol.Receipt{Round: n.at.round, Attempt: n.at.attempt, Party: from, Bundle: p.bundle})
}

// giveReceipts signs all receipts that wait, with one signature, and sends each to its
// party.
func (n *Node) giveReceipts() error {
	for waiting := range slices.Chunk(n.at.receipts, protocol.MaxMembers) {
		signed, err := n.s.SignReceipts(n.cfg.Key, n.self, waiting)
		if err != nil {
			return err
		}
		n.eff.Send = slices.Grow(n.eff.Send, len(signed))
		for i, b := range signed {
			n.eff.Emit(n.s.SubjectReceipt(n.self, waiting[i].Party, n.at.round, n.at.attempt), b)
		}
	}
	n.at.receipts = nil
	return nil
}

func (n *Node) checkHead(from uint32, m *protocol.Contribution, account protocol.Digest, secret *channel.Secret) error {
	switch {
	case m.Model != n.at.model:
		return fmt.Errorf("%w: %s contributed to another model", protocol.ErrMismatch, n.s.Name(from))
	case int(m.Explicit) != n.explicitNode(from):
		return fmt.Errorf("%w: %s's explicit share goes to node %d, not %d", protocol.ErrMismatch, n.s.Name(from), n.explicitNode(from), m.Explicit)
	case len(m.Confirm) != n.m:
		return fmt.Errorf("%w: %d confirmations for %d nodes", protocol.ErrMismatch, len(m.Confirm), n.m)
	}
	if n.s.Confirm(secret, n.context(from), account) != m.Confirm[n.k] {
		return fmt.Errorf("%w: %s derives other keys than this node", protocol.ErrSealed, n.s.Name(from))
	}
	return nil
}

// blinding opens this node's share of the blinding scalar, nil without audit.
func (n *Node) blinding(from uint32, m *protocol.Contribution, secret *channel.Secret) (*commit.Scalar, error) {
	if err := n.s.CheckAudit(m); err != nil || !n.s.Plan.Audit {
		return nil, err
	}
	return n.s.OpenBlinding(secret, n.context(from), m.Blinding[n.k])
}

// context is that of a party's share to this node in the current attempt.
func (n *Node) context(party uint32) protocol.Context {
	return protocol.Context{From: party, To: n.self, Round: n.at.round, Attempt: n.at.attempt, Purpose: protocol.PurposeShare}
}

// settleContribution completes a contribution once its account and, at the
// explicit node, all its chunks are here: then it is in the sum, and the party
// gets its receipt.
func (n *Node) settleContribution(from uint32, p *contribution, secret *channel.Secret) error {
	if p.whole || p.refused || p.parts == nil || p.parts.head == nil {
		return nil
	}
	if n.explicitNode(from) == n.k {
		if p.parts.count < n.s.Chunks() {
			return nil
		}
		if protocol.ChunkList(p.parts.chunks) != p.parts.head.Vector {
			if err := n.refuse(from, p); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s signed another explicit share than it sent", protocol.ErrMismatch, n.s.Name(from))
		}
	} else if err := n.addSeed(from, secret); err != nil {
		return err
	}
	return n.receive(from, p)
}

func (n *Node) receive(from uint32, p *contribution) error {
	p.whole, p.parts = true, nil
	n.at.complete++
	if _, expected := slices.BinarySearch(n.last, from); expected {
		n.at.expected++
	}
	if n.worker != nil {
		n.worker.held(from)
		return nil
	}
	n.oweReceipt(from, p)
	n.eff.Note(protocol.Notice{Code: protocol.NoteHeld, Round: n.at.round, Attempt: n.at.attempt, Peer: n.s.Name(from), Count: n.at.complete, Total: n.n})
	return nil
}

func (n *Node) shareKey(party, chunk uint32) string {
	return protocol.RecordKey("share", n.at.round, n.at.attempt, party, chunk)
}

func (n *Node) commitKey(party uint32) string {
	return protocol.RecordKey("commit", n.at.round, n.at.attempt, party)
}
