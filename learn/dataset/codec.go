package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"choir/internal/strictjson"
)

// Bounds on a schema's file. The decoder of TOML takes up to a hundred times the file's size.
const (
	maxSchemaBytes = 4 << 20
	maxSchemaTOML  = 1 << 20
	maxSchemaKeys  = 1 << 14 // in TOML
)

// Canonical returns the one byte form of a valid schema: JSON on one line, fields in the order of the
// type, no space, shortest decimal floats, no HTML escapes. Errors: ErrSchema.
func (s *Schema) Canonical() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("dataset: schema: %w", err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if len(b) > maxSchemaBytes {
		return nil, schemaErrorf("%d bytes, at most %d", len(b), maxSchemaBytes)
	}
	return b, nil
}

// ParseSchema accepts exactly what Canonical emits. Errors: ErrSchema.
func ParseSchema(b []byte) (*Schema, error) {
	s, err := decodeSchema(b)
	if err != nil {
		return nil, err
	}
	again, err := s.Canonical()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, schemaErrorf("not in canonical form")
	}
	return s, nil
}

// ReadSchema reads a schema as TOML (ParseTOML), or in any layout of JSON, but with no
// unknown field and nothing after it. The result is validated.
func ReadSchema(r io.Reader) (*Schema, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSchemaBytes+1))
	if err != nil {
		return nil, fmt.Errorf("dataset: read schema: %w", err)
	}
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if !bytes.HasPrefix(b, []byte("{")) {
		return ParseTOML(b)
	}
	s, err := decodeSchema(b)
	if err != nil {
		return nil, err
	}
	return s, s.Validate()
}

func decodeSchema(b []byte) (*Schema, error) {
	if len(b) > maxSchemaBytes {
		return nil, schemaErrorf("more than %d bytes", maxSchemaBytes)
	}
	if err := strictjson.Check(b); err != nil {
		return nil, schemaErrorf("%w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var s Schema
	if err := dec.Decode(&s); err != nil {
		return nil, schemaErrorf("%w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, schemaErrorf("something follows the schema")
	}
	return &s, nil
}

// inferred reports whether a source declares that the data were used.
func inferred(source string) bool { return strings.Contains(source, "not private") }
