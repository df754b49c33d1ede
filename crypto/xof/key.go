package xof

import (
	"fmt"
	"io"
	"log/slog"
)

// KeySize is the size of a [Key] in bytes.
const KeySize = 32

const redacted = "xof.Key(redacted)"

// Key is a uniform secret from which streams are derived. Every way to print it gives the same
// placeholder. Its bytes are key[:].
//
// A type cannot prevent one way to print it: package fmt calls no methods on unexported fields.
// A structure with a key in an unexported field must redact itself, or keep a pointer to a
// [Stream] instead, which prints as an address.
type Key [KeySize]byte

// String returns a placeholder.
func (Key) String() string { return redacted }

// GoString returns a placeholder.
func (Key) GoString() string { return redacted }

// Format writes a placeholder for every verb.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue returns a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns a placeholder, so that encoders that walk over a structure
// do not write the key.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }
