package global

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Proposal and Learner hold records, or functions of them without noise. They refuse to
// print or to be marshalled by accident.

// String hides the update.
func (Proposal) String() string { return redacted }

// GoString hides the update.
func (Proposal) GoString() string { return redacted }

// Format hides the update under every verb.
func (Proposal) Format(f fmt.State, _ rune) { redact(f) }

// LogValue hides the update.
func (Proposal) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the update.
func (Proposal) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// String hides the party's data.
func (*Learner) String() string { return redacted }

// GoString hides the party's data.
func (*Learner) GoString() string { return redacted }

// Format hides the party's data under every verb.
func (*Learner) Format(f fmt.State, _ rune) { redact(f) }

// LogValue hides the party's data.
func (*Learner) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the party's data.
func (*Learner) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// redact has nowhere to report a failed write to: fmt.State doesn't fail.
func redact(f fmt.State) { _, _ = io.WriteString(f, redacted) }
