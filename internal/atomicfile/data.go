package atomicfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrSchemaVersion reports a document without a schema_version.
var ErrSchemaVersion = errors.New("atomicfile: the document has no positive schema_version")

// WriteJSON writes an indented JSON object that must carry a positive integer
// "schema_version". Values that JSON has no number for (NaN, infinities) are refused.
func WriteJSON(path string, v any) error {
	b, err := EncodeJSON(v)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// EncodeJSON returns the bytes that WriteJSON writes: two spaces of indent, no HTML
// escapes, one newline at the end.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("atomicfile: %w", err)
	}
	var head struct {
		Version int `json:"schema_version"`
	}
	if err := json.Unmarshal(buf.Bytes(), &head); err != nil || head.Version < 1 {
		return nil, ErrSchemaVersion
	}
	return buf.Bytes(), nil
}

// WriteCSV writes a header and rows of equal length. Cells may be strings, booleans,
// integers, floats (shortest form that reads back equal; NaN becomes an empty cell) or
// nil (an empty cell).
func WriteCSV(path string, header []string, rows [][]any) error {
	b, err := EncodeCSV(header, rows)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// EncodeCSV returns the bytes that WriteCSV writes.
func EncodeCSV(header []string, rows [][]any) ([]byte, error) {
	if len(header) == 0 {
		return nil, errors.New("atomicfile: csv without columns")
	}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	if err := w.Write(header); err != nil {
		return nil, fmt.Errorf("atomicfile: csv: %w", err)
	}
	for i, row := range rows {
		cells, err := csvRow(header, row)
		if err != nil {
			return nil, fmt.Errorf("atomicfile: csv row %d: %w", i, err)
		}
		if err := w.Write(cells); err != nil {
			return nil, fmt.Errorf("atomicfile: csv row %d: %w", i, err)
		}
	}
	w.Flush()
	return buf.Bytes(), w.Error()
}

func csvRow(header []string, row []any) ([]string, error) {
	if len(row) != len(header) {
		return nil, fmt.Errorf("%d cells for %d columns", len(row), len(header))
	}
	cells := make([]string, len(row))
	for j, v := range row {
		cell, err := csvCell(v)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", header[j], err)
		}
		cells[j] = cell
	}
	return cells, nil
}

func csvCell(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v), nil
	case float32:
		return csvFloat(float64(v), 32)
	case float64:
		return csvFloat(v, 64)
	}
	return "", fmt.Errorf("a %T has no cell form", v)
}

func csvFloat(v float64, bits int) (string, error) {
	if math.IsInf(v, 0) {
		return "", errors.New("infinite value")
	}
	if math.IsNaN(v) {
		return "", nil
	}
	return strconv.FormatFloat(v, 'g', -1, bits), nil
}
