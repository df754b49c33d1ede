package mix

import (
	"encoding/binary"
	"fmt"

	"choir/protocol"
)

// A store has the messages of the attempt that the member accepted or signed, in order, from which
// the rest follows, and what they do not tell:
//
//	mix/log/<number>   u32 length | subject (of an own message; else empty) | message
//	mix/state          u32 round | u32 attempt | u32 used | u32 closed
//	mix/secrets        n* (u32 length | secret): a node's private keys, the aggregator's, a party's trail
//	mix/report         a party: u32 round | its reports, of one length, in the order of its onions
//	mix/result         the aggregator: like mix/log, the newest result
//	mix/reports/<round>  the aggregator: the opened reports, each of the same length
//
// and as in a plan of sums:
//
//	settled            u32 round: the last whose result is known
//	done               how the session ended: protocol.MarshalEnd
//	model              the aggregator: the numbers that all rounds' reports were folded into
//	transcript/<number>  the aggregator: see Verify

func logKey(i uint32) string { return fmt.Sprintf("mix/log/%08d", i) }

// ReportsKey is the key under which the aggregator's store has the opened reports of a round.
func ReportsKey(round uint32) string { return protocol.RecordKey("mix/reports", round) }

func stored(subject string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(subject)+len(data)), uint32(len(subject)))
	return append(append(b, subject...), data...)
}

// cut returns the first of several byte strings that each follow their length.
func cut(b []byte) (first, rest []byte, err error) {
	if len(b) < 4 || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, nil, fmt.Errorf("%w: it is cut short", protocol.ErrMalformed)
	}
	n := 4 + binary.BigEndian.Uint32(b)
	return b[4:n], b[n:], nil
}

func (m *machine) putState() {
	var b []byte
	for _, v := range []uint32{m.state.round, m.state.attempt, m.state.used, m.state.closed} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	m.eff.Put("mix/state", b)
}

// setSecrets replaces the attempt's secrets and erases those before.
func (m *machine) setSecrets(list [][]byte) {
	if len(list) == 0 && len(m.secrets) == 0 {
		return
	}
	m.secrets = list
	var b []byte
	for _, s := range list {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	m.eff.Replace("mix/secrets", b)
}

// restore reads the store.
func (m *machine) restore() error {
	if b := m.cfg.View.Get("mix/state"); b != nil {
		if len(b) != 16 {
			return fmt.Errorf("mix/state has %d bytes", len(b))
		}
		u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
		m.state = state{u(0), u(1), u(2), u(3)}
	}
	for b := m.cfg.View.Get("mix/secrets"); len(b) > 0; {
		s, rest, err := cut(b)
		if err != nil {
			return fmt.Errorf("mix/secrets: %w", err)
		}
		m.secrets = append(m.secrets, s)
		b = rest
	}
	for _, key := range m.cfg.View.Keys("mix/log/") {
		if err := m.replay(m.cfg.View.Get(key)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.logged++
		_, data, _ := cut(m.cfg.View.Get(key))
		m.signed = append(m.signed, data)
	}
	return m.role.restore()
}

// replay accepts a message of the log again.
func (m *machine) replay(b []byte) error {
	subject, data, err := cut(b)
	if err != nil {
		return err
	}
	e, msg, err := m.s.Receive(data)
	if err != nil {
		return err
	}
	if r, ok := msg.(*protocol.MixRound); ok {
		m.at = newAttempt(m.s, r, 0)
		m.remember(r, data)
	} else if m.at == nil {
		return fmt.Errorf("%w: no round is open", protocol.ErrMismatch)
	} else if err := m.at.accept(e.From, msg, data, 1); err != nil {
		return err
	}
	if e.From == m.self {
		_, _, sl, _ := place(m.self, msg)
		m.own[sl] = true
		m.last = append(m.last, protocol.Outgoing{Subject: string(subject), Data: data})
	}
	return nil
}
