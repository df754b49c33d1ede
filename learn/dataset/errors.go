package dataset

import (
	"errors"
	"fmt"
	"strings"
)

// Causes of a rejection. Every error about a file's content wraps ErrBadData, and one of
// the narrower causes where a caller may want to react to it.
var (
	// ErrBadData: the content of a file cannot be used.
	ErrBadData = errors.New("bad data")
	// ErrMissing: a value is missing where the schema does not allow it.
	ErrMissing = errors.New("value is missing")
	// ErrUnseen: a category is not in the schema.
	ErrUnseen = errors.New("category is not in the schema")
	// ErrSchema: a schema is unusable.
	ErrSchema = errors.New("bad schema")
)

// LineError locates a rejected value in a text file. It never contains a cell's content.
type LineError struct {
	File   string // file name, may be empty
	Line   int    // 1-based
	Column string // name of the column, may be empty
	Err    error
}

// Error names the file, line and column before the cause.
func (e *LineError) Error() string {
	var at []string
	if e.File != "" {
		at = append(at, e.File)
	}
	if e.Line > 0 {
		at = append(at, fmt.Sprintf("line %d", e.Line))
	}
	if e.Column != "" {
		at = append(at, fmt.Sprintf("column %q", e.Column))
	}
	return strings.Join(at, ", ") + ": " + e.Err.Error()
}

// Unwrap returns ErrBadData and the cause.
func (e *LineError) Unwrap() []error { return []error{ErrBadData, e.Err} }

func schemaErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrSchema, fmt.Errorf(format, args...))
}

func badDataf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadData, fmt.Errorf(format, args...))
}
