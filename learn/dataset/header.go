package dataset

import (
	"errors"
	"fmt"
	"strings"
)

// checkHeader rejects a first line that can't name columns, with what spreadsheets and other programs are
// known to write there.
func (rec *Records) checkHeader() error {
	const line = 1
	if err := rec.checkFirstLine(); err != nil {
		return &LineError{rec.Name, line, "", err}
	}
	seen := make(map[string]bool, len(rec.Header))
	numbers := 0
	for i, name := range rec.Header {
		if name == "" {
			return &LineError{rec.Name, line, fmt.Sprintf("#%d", i+1), rec.unnamed(i)}
		}
		if err := checkName(name); err != nil {
			return &LineError{rec.Name, line, fmt.Sprintf("#%d", i+1), fmt.Errorf("header: %w", err)}
		}
		if seen[name] {
			return &LineError{rec.Name, line, name, errTwice}
		}
		seen[name] = true
		if _, err := parseNumber(name); err == nil {
			numbers++
		}
	}
	if numbers == len(rec.Header) {
		err := errors.New("the first line has numbers, not column names: a header is needed")
		return &LineError{rec.Name, line, "", err}
	}
	if len(rec.Header) > maxColumns {
		return &LineError{rec.Name, line, "", fmt.Errorf("%d columns, at most %d", len(rec.Header),
			maxColumns)}
	}
	return nil
}

// checkFirstLine rejects a first line that is no header at all.
func (rec *Records) checkFirstLine() error {
	names := 0
	for _, name := range rec.Header {
		if name != "" {
			names++
		}
	}
	switch {
	case len(rec.Header) == 1 && strings.Contains(rec.Header[0], "|"):
		return errBars
	case len(rec.Header) <= 2 && strings.HasPrefix(strings.ToLower(rec.Header[0]), "sep="):
		return errSeparatorLine
	case names == 1 && len(rec.Header) > 2 && rec.Header[0] != "":
		return errTitle
	}
	return nil
}

// unnamed is the error about an empty name: of the first column, of the last ones, or of another.
func (rec *Records) unnamed(i int) error {
	switch {
	case i == 0:
		return errIndex
	case strings.Join(rec.Header[i:], "") == "":
		return errTrailing
	}
	return errUnnamed
}

var (
	errBars          = errors.New("the fields are separated by |: write commas, semicolons or tabs between them")
	errSeparatorLine = errors.New("a spreadsheet's line that names the separator: remove it, so that the " +
		"first line names the columns")
	errTitle = errors.New("one name and empty fields, as a title has: remove the lines above the one that " +
		"names the columns")
	errUnnamed = errors.New("header: empty name; name the column, or remove it")
	errIndex   = errors.New("header: empty name; name the column, or remove it: " +
		"the index that pandas writes is left out by to_csv(..., index=False)")
	errTrailing = errors.New("header: empty name, and no name after it: the lines end in separators, as a " +
		"spreadsheet writes for empty columns; delete these columns there, or name them")
	errTwice = errors.New("header: name appears twice; rename or remove one of the columns")
)
