package xof

import (
	"fmt"
	"io"
	"log/slog"
)

// KeySize is the size of a [Key] in bytes.
const KeySize = 32

const redacted = "xof.Key(redacted)"

// Key is a uniform secret that streams are derived from. It doesn't print: every
// way to turn it into text gives the same placeholder. Its bytes are key[:].
//
// There is one hole that a type cannot close: package fmt calls no methods on a
// structure's unexported fields. Who keeps a key in one redacts the structure too,
// or keeps a [Stream] in it, which is a pointer and shows as an address.
type Key [KeySize]byte

// String returns a placeholder.
func (Key) String() string { return redacted }

// GoString returns a placeholder.
func (Key) GoString() string { return redacted }

// Format writes a placeholder, whatever the verb.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue returns a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns a placeholder, so that encoders that walk over a structure
// don't write the key.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }
