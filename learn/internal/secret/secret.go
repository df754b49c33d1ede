// Package secret keeps records, and what was computed from them without noise, out of logs,
// errors and files.
//
// # Contract
//
// A type that embeds Hidden prints and marshals as "[redacted]" under every verb of fmt, in
// log/slog, and in text encodings such as JSON. Fields that are read by name are not
// affected. Hidden guards against accidents, not against code that reads the fields on
// purpose.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Hidden is embedded by what must not be printed. It has no size.
type Hidden struct{}

// String hides the value.
func (Hidden) String() string { return redacted }

// GoString hides the value.
func (Hidden) GoString() string { return redacted }

// Format hides the value under every verb. fmt.State has nowhere to report a failed
// write to.
func (Hidden) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue hides the value.
func (Hidden) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the value.
func (Hidden) MarshalText() ([]byte, error) { return []byte(redacted), nil }
