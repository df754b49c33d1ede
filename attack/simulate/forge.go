package simulate

import (
	"bytes"

	"choir/protocol"
)

// forge makes another message of one: with another content, altered in one of a few
// ways, from the same claimed sender, signed with a key.
func (w *world) forge(key *signer, data []byte, way int64) []byte {
	if protocol.IsChunk(data) {
		return w.forgeChunk(data, way)
	}
	e, err := protocol.UnmarshalEnvelope(data)
	if err != nil {
		return data
	}
	m, err := protocol.Decode(e)
	if err != nil {
		return data
	}
	if way >= 6 { // a bit somewhere, or the right content under no signature at all
		b := bytes.Clone(data)
		b[len(b)-1-int(way-6)*80] ^= 4
		return b
	}
	b, err := w.session.Sign(key, e.From, altered(m, way))
	if err != nil {
		return data
	}
	return b
}

func (w *world) forgeChunk(data []byte, way int64) []byte {
	c, err := protocol.UnmarshalChunk(data)
	if err != nil {
		return data
	}
	switch way % 3 {
	case 0:
		c.Ciphertext[int(way)%len(c.Ciphertext)] ^= 1
	case 1:
		c.Attempt++
	default:
		c.Index++
	}
	b, err := c.Marshal()
	if err != nil {
		return data
	}
	return b
}

// altered is another content of the same kind.
func altered(m protocol.Message, way int64) protocol.Message {
	switch m := m.(type) {
	case *protocol.Round:
		if way%3 == 2 {
			return &protocol.Abort{Class: uint8(protocol.ClassQuorum), Reason: "forged"}
		}
		m.Attempt += uint32(way % 2)
		m.Model[0] ^= byte(1 - way%2)
	case *protocol.Contribution:
		m.Vector[0] ^= 1
	case *protocol.Receipt:
		if way%2 == 0 && len(m.Path) > 0 {
			m.Path[0][0] ^= 1
		} else {
			m.Bundle[0] ^= 1
		}
	case *protocol.Hold:
		if way%2 == 0 && len(m.Entries) > 0 {
			m.Entries = m.Entries[1:]
		} else if len(m.Entries) > 0 {
			m.Entries[0].Bundle[0] ^= 1
		}
	case *protocol.Agree:
		m.Set[0] ^= 1
	case *protocol.Partial:
		m.Vector[0] ^= 1
	case *protocol.Result:
		if way%2 == 0 {
			return &protocol.Result{Round: m.Round, Attempt: m.Attempt, Outcome: protocol.OutcomeVoid}
		}
		m.Next[0] ^= 1
	case *protocol.Confirm:
		if way%2 == 0 {
			m.Result[0] ^= 1
		} else {
			m.Value[0] ^= 1
		}
	default:
		alterKeys(m)
	}
	return m
}

// alterKeys changes a message of the exchange of keys.
func alterKeys(m protocol.Message) {
	switch m := m.(type) {
	case *protocol.Key:
		if len(m.Public) > 0 {
			m.Public[0] ^= 1
		}
	case *protocol.Open:
		if len(m.Enc) > 0 {
			m.Enc[0] ^= 1
		}
	case *protocol.Group:
		if len(m.Sealed) > 0 {
			m.Sealed[0] ^= 1
		}
	}
}
