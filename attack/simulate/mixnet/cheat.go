package mixnet

import (
	"bytes"
	"slices"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/protocol/mix"
)

// cheat is the lying member of a session. It is an honest machine whose messages are altered.
type cheat struct {
	row    *Row
	w      *world
	self   uint32
	key    *identity.PrivateKey
	eff    *protocol.Effects
	done   map[string]bool
	stored map[string][]byte
	// believed are the messages that the member believes to have sent, by those that its machine made:
	// it starts again with them in its store.
	believed map[string][]byte
}

func (c *cheat) alter(eff *protocol.Effects) {
	c.eff = eff
	if c.row.does != nil {
		c.row.does(c)
	}
}

// once reports true the first time that it is called with a word.
func (c *cheat) once(word string) bool {
	again := c.done[word]
	c.done[word] = true
	return !again
}

func (c *cheat) sign(m protocol.Message) []byte {
	data, err := c.w.s.Sign(c.key, c.self, m)
	if err != nil {
		panic(err) // rows are constants
	}
	return data
}

// each replaces every message of a type that the member sends.
func each[M protocol.Message](c *cheat, f func(m M, o protocol.Outgoing) []protocol.Outgoing) {
	var out []protocol.Outgoing
	for _, o := range c.eff.Send {
		if m, ok := decode[M](o.Data); ok {
			out = append(out, f(m, o)...)
		} else {
			out = append(out, o)
		}
	}
	c.eff.Send = out
}

// decode decodes a message, without a check of its signature.
func decode[M protocol.Message](data []byte) (m M, ok bool) {
	e, err := protocol.UnmarshalEnvelope(bytes.Clone(data))
	if err != nil {
		return m, false
	}
	msg, err := protocol.Decode(e)
	if err != nil {
		return m, false
	}
	m, ok = msg.(M)
	return m, ok
}

// lie alters every message of a type.
func lie[M protocol.Message](f func(c *cheat, m M)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			f(c, m)
			return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(m)}}
		})
	}
}

// twoFaced sends an altered copy after every message of a type.
func twoFaced[M protocol.Message](f func(c *cheat, m M)) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			f(c, m)
			return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(m)}}
		})
	}
}

// silent sends no message of a type.
func silent[M protocol.Message]() func(*cheat) {
	return func(c *cheat) {
		each(c, func(M, protocol.Outgoing) []protocol.Outgoing { return nil })
	}
}

// batch is a description with the entries that a node sends in the same step; the table's batches fit
// into one piece.
type batch struct {
	*protocol.MixBatch
	entries [][]byte
}

// rebatch lets a node alter a batch that it makes in the first attempt, with its entries. What is
// signed fits what is sent.
func rebatch(stage uint32, f func(c *cheat, b *batch)) func(*cheat) {
	return func(c *cheat) {
		var head *protocol.MixBatch
		var piece *protocol.MixPiece
		for _, o := range c.eff.Send {
			if m, ok := decode[*protocol.MixBatch](o.Data); ok && m.Stage == stage {
				head = m
			}
			if m, ok := decode[*protocol.MixPiece](o.Data); ok && m.Stage == stage {
				piece = m
			}
		}
		if head == nil || piece == nil || head.Round > 1 || head.Attempt > 1 {
			return
		}
		b := &batch{MixBatch: head, entries: entriesOf(c, head, piece)}
		f(c, b)
		piece.Entries = bytes.Join(b.entries, nil)
		head.Content = mix.ContentDigest(b.entries)
		if len(head.Digests) > 0 {
			head.Digests = nil
			for _, e := range b.entries {
				head.Digests = append(head.Digests, mix.EntryDigest(e))
			}
		}
		c.replace(head, piece)
	}
}

// absurd is rebatch for what no machine believes to have sent.
func absurd(stage uint32, f func(c *cheat, b *batch)) func(*cheat) {
	alter := rebatch(stage, f)
	return func(c *cheat) {
		alter(c)
		clear(c.believed)
	}
}

// entriesOf cuts a piece into the entries of its batch.
func entriesOf(c *cheat, head *protocol.MixBatch, piece *protocol.MixPiece) [][]byte {
	n := len(head.Digests)
	if n == 0 {
		n = c.w.s.Plan.Parties() - len(head.Failed)
	}
	return slices.Collect(slices.Chunk(piece.Entries, len(piece.Entries)/n))
}

// believe puts the altered messages in the place of the machine's own, and reports whether there are
// any.
func (c *cheat) believe() bool {
	found := false
	for i, r := range c.eff.Persist {
		for own, data := range c.believed {
			if head, is := bytes.CutSuffix(r.Value, []byte(own)); is && own != "" {
				c.eff.Persist[i].Value = append(slices.Clone(head), data...)
				found = true
			}
		}
	}
	clear(c.believed)
	return found
}

// replace puts the altered messages into the effects.
func (c *cheat) replace(head *protocol.MixBatch, piece *protocol.MixPiece) {
	each(c, func(m *protocol.MixBatch, o protocol.Outgoing) []protocol.Outgoing {
		if m.Stage != head.Stage {
			return []protocol.Outgoing{o}
		}
		data := c.sign(head)
		c.believed[string(o.Data)] = data
		return []protocol.Outgoing{{Subject: o.Subject, Data: data}}
	})
	each(c, func(m *protocol.MixPiece, o protocol.Outgoing) []protocol.Outgoing {
		if m.Stage != piece.Stage {
			return []protocol.Outgoing{o}
		}
		data := c.sign(piece)
		c.believed[string(o.Data)] = data
		return []protocol.Outgoing{{Subject: o.Subject, Data: data}}
	})
}

// overheard returns the first message of a type from a member that is on the bus, which everyone may
// read.
func overheard[M protocol.Message](c *cheat, from uint32, round uint32) (m M, ok bool) {
	for _, o := range c.w.sent() {
		e, err := protocol.UnmarshalEnvelope(o.Data)
		if err != nil || e.From != from {
			continue
		}
		if m, ok = decode[M](o.Data); ok && roundOf(m) == round {
			return m, true
		}
	}
	return m, false
}

func roundOf(m protocol.Message) uint32 {
	switch m := m.(type) {
	case *protocol.Onion:
		return m.Round
	case *protocol.MixBatch:
		return m.Round
	case *protocol.MixAgree:
		return m.Round
	}
	return 0
}

// first reports whether a message is of the first attempt.
func first(m protocol.Message) bool {
	switch m := m.(type) {
	case *protocol.MixKeys:
		return m.Round == 1 && m.Attempt == 1
	case *protocol.MixBatch:
		return m.Round == 1 && m.Attempt == 1
	case *protocol.MixPiece:
		return m.Round == 1 && m.Attempt == 1
	case *protocol.MixAgree:
		return m.Round == 1 && m.Attempt == 1
	}
	return false
}

// firstAttempt alters the messages of a type in the first attempt; those for which f returns false are
// not sent.
func firstAttempt[M protocol.Message](f func(m M) bool) func(*cheat) {
	return func(c *cheat) {
		each(c, func(m M, o protocol.Outgoing) []protocol.Outgoing {
			switch {
			case !first(m):
				return []protocol.Outgoing{o}
			case f(m):
				return []protocol.Outgoing{{Subject: o.Subject, Data: c.sign(m)}}
			}
			return nil
		})
	}
}

func altered[M protocol.Message](f func(m M)) func(*cheat) {
	return firstAttempt(func(m M) bool {
		f(m)
		return true
	})
}

// drop takes an entry out of a batch.
func (b *batch) drop(i int) { b.entries = slices.Delete(b.entries, i, i+1) }

// scramble replaces entries by others of the same length. A batch has fewer if an honest party was late.
func (b *batch) scramble(which ...int) {
	for _, i := range which {
		if i >= len(b.entries) {
			continue
		}
		b.entries[i] = slices.Clone(b.entries[i])
		for k := range b.entries[i] {
			b.entries[i][k] ^= 0x55
		}
	}
}
