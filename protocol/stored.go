package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"choir/crypto/channel"
)

// What roles keep in their own stores. These forms never travel; a reader
// still refuses what no writer emits, since disks lie too.

// Link is one end of a channel: the secret and the Open that set it up.
type Link struct {
	Secret *channel.Secret
	Open   []byte // the signed message
}

// MarshalLink is the stored form: 32 bytes of secret, then the Open.
func MarshalLink(l *Link) []byte { return append(l.Secret.Bytes(), l.Open...) }

// UnmarshalLink is its inverse.
func UnmarshalLink(b []byte) (*Link, error) {
	if len(b) < channel.SecretSize {
		return nil, fmt.Errorf("stored channel has %d bytes", len(b))
	}
	secret, err := channel.NewSecret(b[:channel.SecretSize])
	if err != nil {
		return nil, err
	}
	return &Link{secret, append([]byte(nil), b[channel.SecretSize:]...)}, nil
}

// cutPiece takes a piece with its u32 length in front off b.
func cutPiece(b []byte) (piece, rest []byte, err error) {
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, fmt.Errorf("stored message is cut short")
	}
	n := binary.BigEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:], nil
}

// RecordKey is the key of a record about so many numbers: "kind/1/2". It is made for
// every contribution, so it costs one allocation.
func RecordKey(kind string, numbers ...uint32) string {
	b := append(make([]byte, 0, 64), kind...) // no key is longer
	for _, n := range numbers {
		b = strconv.AppendUint(append(b, '/'), uint64(n), 10)
	}
	return string(b)
}

// KeyNumber is the number behind a stored key's last slash.
func KeyNumber(key string) (uint32, error) {
	i, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 10, 32)
	return uint32(i), err
}

// StepView is a View with the records of the step under way laid over it, so
// that a machine reads what it has just written. The last write wins.
type StepView struct {
	View View
	Step *Effects // nil between steps
}

// Get reads a key; nil when it is absent or deleted.
func (m StepView) Get(key string) []byte {
	if m.Step != nil {
		for i := len(m.Step.Persist) - 1; i >= 0; i-- {
			if m.Step.Persist[i].Key == key {
				return m.Step.Persist[i].Value
			}
		}
	}
	return m.View.Get(key)
}

// Keys lists the keys under a prefix, in increasing order.
func (m StepView) Keys(prefix string) []string {
	keys := m.View.Keys(prefix)
	if m.Step == nil {
		return keys
	}
	for _, r := range m.Step.Persist {
		if !strings.HasPrefix(r.Key, prefix) {
			continue
		}
		if i, found := slices.BinarySearch(keys, r.Key); found && r.Value == nil {
			keys = slices.Delete(keys, i, i+1)
		} else if !found && r.Value != nil {
			keys = slices.Insert(keys, i, r.Key)
		}
	}
	return keys
}

// MarshalEnd is the stored form of how a session ended for a role: u8 class
// and the reason; empty for a session that completed.
func MarshalEnd(err error) []byte {
	if err == nil {
		return []byte{}
	}
	return append([]byte{byte(ClassOf(err))}, err.Error()...)
}

// UnmarshalEnd is its inverse.
func UnmarshalEnd(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return Fail(Class(b[0]), "%s", b[1:])
}
