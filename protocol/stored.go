package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"choir/crypto/channel"
)

// The forms in which roles store things. They are never sent, and are checked when they are
// read, since a disk may be damaged.

// Link is one end of a channel.
type Link struct {
	Secret *channel.Secret
	Open   []byte // the signed message that set it up
}

// MarshalLink returns the stored form: 32 bytes of secret, then the Open.
func MarshalLink(l *Link) []byte { return append(l.Secret.Bytes(), l.Open...) }

// UnmarshalLink is the inverse of MarshalLink.
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

// cutPiece splits off the first piece of b, which begins with its length as u32.
func cutPiece(b []byte) (piece, rest []byte, err error) {
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, fmt.Errorf("stored message is cut short")
	}
	n := binary.BigEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:], nil
}

// RecordKey returns a store key such as "kind/1/2". It is called for every contribution, so it
// allocates only once.
func RecordKey(kind string, numbers ...uint32) string {
	b := append(make([]byte, 0, 64), kind...) // long enough for all keys
	for _, n := range numbers {
		b = strconv.AppendUint(append(b, '/'), uint64(n), 10)
	}
	return string(b)
}

// KeyNumber returns the number after the last slash of a store key.
func KeyNumber(key string) (uint32, error) {
	i, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 10, 32)
	return uint32(i), err
}

// StepView is a View that includes the records of the current step, so that a machine reads
// what it has just written.
type StepView struct {
	View View
	Step *Effects // nil between steps
}

// Get returns the value of a key, nil if it is absent or deleted.
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

// Keys returns the keys with a prefix, in increasing order.
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

// MarshalEnd returns the stored form of how a session ended for a role: u8 class and the
// reason, or nothing for a session that completed.
func MarshalEnd(err error) []byte {
	if err == nil {
		return []byte{}
	}
	return append([]byte{byte(ClassOf(err))}, err.Error()...)
}

// UnmarshalEnd is the inverse of MarshalEnd.
func UnmarshalEnd(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return Fail(Class(b[0]), "%s", b[1:])
}
