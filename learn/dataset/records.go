package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCells bounds the cells of one file and of one encoded table (512 MiB of floats).
const maxCells = 1 << 26

// Records is a delimited file as text: cells trimmed of surrounding space, not yet
// interpreted.
type Records struct {
	Name   string     // for messages
	Header []string   // unique column names
	Cells  [][]string // rows of len(Header) cells
	Lines  []int      // 1-based line of each row in its file

	// DecimalCommas reports whether cells may have decimal commas: commas do not separate
	// the fields.
	DecimalCommas bool
}

// CSVOptions describes a delimited file.
type CSVOptions struct {
	// Name is used in error messages, typically the file's name.
	Name string
	// Comma separates fields; 0 picks comma, semicolon or tab by the first line.
	Comma rune
	// Header names the columns of a file without a header line. If nil, the first
	// line must be a header.
	Header []string
	// Comment starts a line to be skipped; 0 for none.
	Comment rune
	// HeaderOnly accepts a file without rows.
	HeaderOnly bool
}

// ReadRecords reads a delimited file (RFC 4180, UTF-8, optional byte order mark). Blank lines are
// skipped, every other line must have one field per column. The first malformed line is a LineError,
// with line and column but not the cell.
func ReadRecords(r io.Reader, opt CSVOptions) (*Records, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if err := skipMark(br); err != nil {
		return nil, fmt.Errorf("dataset: read %s: %w", opt.Name, err)
	}
	if opt.Comma == 0 {
		opt.Comma = detectComma(br)
	}
	cr := csv.NewReader(br)
	cr.Comma = opt.Comma
	cr.Comment = opt.Comment
	cr.FieldsPerRecord = -1
	// A space before a quote is common; before a tab it would swallow empty fields.
	cr.TrimLeadingSpace = opt.Comma != '\t'
	rec := &Records{Name: opt.Name, Header: opt.Header, DecimalCommas: opt.Comma != ','}
	if err := rec.readHeader(cr); err != nil {
		return nil, err
	}
	if err := rec.readRows(cr); err != nil {
		return nil, err
	}
	if len(rec.Cells) == 0 && !opt.HeaderOnly {
		return nil, &LineError{File: opt.Name, Err: errNoRows}
	}
	return rec, nil
}

func (rec *Records) readHeader(cr *csv.Reader) error {
	if rec.Header == nil {
		names, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return &LineError{File: rec.Name, Err: errEmpty}
		}
		if err != nil {
			return rec.parseError(err, names)
		}
		rec.Header = trimAll(names)
	}
	return rec.checkHeader()
}

func (rec *Records) readRows(cr *csv.Reader) error {
	for {
		cells, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return rec.parseError(err, cells)
		}
		line, _ := cr.FieldPos(0)
		if len(cells) != len(rec.Header) {
			return rec.countError(line, len(cells))
		}
		if (len(rec.Cells)+1)*len(rec.Header) > maxCells {
			return &LineError{rec.Name, line, "", fmt.Errorf("more than %d cells", maxCells)}
		}
		for i, cell := range cells {
			if !utf8.ValidString(cell) {
				return &LineError{rec.Name, line, rec.Header[i], errNotUTF8}
			}
		}
		rec.Cells = append(rec.Cells, trimAll(cells))
		rec.Lines = append(rec.Lines, line)
	}
}

// parseError names the column by the fields that were read before the error.
func (rec *Records) parseError(err error, partial []string) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("dataset: read %s: %w", rec.Name, err)
	}
	column := ""
	if len(partial) < len(rec.Header) {
		column = rec.Header[len(partial)]
	}
	if errors.Is(pe.Err, csv.ErrQuote) || errors.Is(pe.Err, csv.ErrBareQuote) {
		return &LineError{rec.Name, pe.StartLine, column,
			fmt.Errorf("%w; close every quoted field, and write a quote inside one twice", pe.Err)}
	}
	return &LineError{rec.Name, pe.Line, column, pe.Err}
}

func (rec *Records) countError(line, got int) error {
	want := len(rec.Header)
	if got < want {
		return &LineError{rec.Name, line, rec.Header[got],
			fmt.Errorf("the line ends before this column: %d fields, want %d; leave a missing value empty "+
				"between two separators", got, want)}
	}
	return &LineError{rec.Name, line, rec.Header[want-1],
		fmt.Errorf("the line continues after the last column: %d fields, want %d; quote a field that has the "+
			"separator in it", got, want)}
}

// WriteCSV writes the given rows with a header, separated by commas, or by semicolons if
// cells may have decimal commas; nil writes all.
// What it writes, ReadRecords reads back.
func (rec *Records) WriteCSV(w io.Writer, rows []int) error {
	cw := csv.NewWriter(w)
	if rec.DecimalCommas {
		cw.Comma = ';'
	}
	if err := cw.Write(rec.Header); err != nil {
		return fmt.Errorf("dataset: write %s: %w", rec.Name, err)
	}
	if rows == nil {
		return rec.finish(cw, cw.WriteAll(rec.Cells))
	}
	for _, i := range rows {
		if i < 0 || i >= len(rec.Cells) {
			return fmt.Errorf("dataset: row %d of %d", i, len(rec.Cells))
		}
		if err := cw.Write(rec.Cells[i]); err != nil {
			return rec.finish(cw, err)
		}
	}
	return rec.finish(cw, nil)
}

func (rec *Records) finish(cw *csv.Writer, err error) error {
	cw.Flush()
	if err := errors.Join(err, cw.Error()); err != nil {
		return fmt.Errorf("dataset: write %s: %w", rec.Name, err)
	}
	return nil
}

// index returns the position of a column, or -1.
func (rec *Records) index(name string) int {
	for i, h := range rec.Header {
		if h == name {
			return i
		}
	}
	return -1
}

func skipMark(br *bufio.Reader) error {
	b, err := br.Peek(3)
	if err != nil && err != io.EOF {
		return err
	}
	if len(b) >= 2 && (string(b[:2]) == "\xff\xfe" || string(b[:2]) == "\xfe\xff") {
		return badDataf("the text is UTF-16; save it as UTF-8")
	}
	if string(b) == "\ufeff" {
		if _, err := br.Discard(3); err != nil {
			return err
		}
	}
	return checkText(br)
}

// checkText returns an error if what a file begins with is no text.
func checkText(br *bufio.Reader) error {
	b, err := br.Peek(br.Size())
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) {
		return badDataf("the file is a spreadsheet or another archive (zip), not text; export the table as CSV " +
			"in UTF-8")
	}
	if bytes.ContainsRune(b, '\r') && !bytes.ContainsRune(b, '\n') {
		return fmt.Errorf("%w: %w", ErrBadData, errMac)
	}
	for i, c := range b {
		if c < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\x1a"), rune(c)) {
			return badDataf("the file is not text: byte %d is %#02x; name the CSV file, or export the table as "+
				"CSV in UTF-8", i+1, c)
		}
	}
	return nil
}

// detectComma counts separators outside quotes in the first line, as far as the
// reader's buffer shows it. A comma wins ties.
func detectComma(br *bufio.Reader) rune {
	b, _ := br.Peek(br.Size())
	count := map[rune]int{}
	quoted := false
	for _, r := range string(b) {
		if r == '"' {
			quoted = !quoted
		}
		if r == '\n' && !quoted {
			break
		}
		if !quoted {
			count[r]++
		}
	}
	best := ','
	for _, r := range []rune{';', '\t'} {
		if count[r] > count[best] {
			best = r
		}
	}
	return best
}

func trim(s string) string { return strings.TrimSpace(s) }

func trimAll(cells []string) []string {
	for i, c := range cells {
		cells[i] = trim(c)
	}
	return cells
}

// missing reports whether a cell is empty or "?", as in the UCI repository.
func missing(cell string) bool { return cell == "" || cell == "?" }

var (
	errNotUTF8 = errors.New("the text is not UTF-8, perhaps Latin-1 or Windows-1252; " +
		"save the file as \"CSV UTF-8\"")
	errEmpty  = errors.New("empty file: a header line and at least one record are needed")
	errNoRows = errors.New("no rows: after the header, at least one record is needed")
	errMac    = errors.New("lines end in a carriage return alone, as old programs wrote them: " +
		"save the file with line feeds")

	errNotNumber    = errors.New("not a finite decimal number; leave the cell empty if the value is missing")
	errDecimalComma = errors.New("not a finite decimal number: a comma in a number; write a decimal point, " +
		"or separate the fields by semicolons")
	errThousands = errors.New("not a finite decimal number: the comma of one like 1,500 separates decimals " +
		"(1.5) or thousands (1500), and nothing tells which; write 1.5 or 1500, or agree on a schema whose " +
		"range for the column has only one of the two")
)

// A number with a comma, and one whose comma may also separate thousands.
var (
	commaNumber    = regexp.MustCompile(`^[+-]?[0-9]*,[0-9]+$`)
	thousandNumber = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2},[0-9]{3}$`)
)

// number reads a cell. A comma is a decimal mark where it cannot be anything else; otherwise
// the error is errThousands, and the column's public range may decide. Whether a cell is
// read depends on the cell, on the file's separator and on the schema, never on other rows:
// a changed record changes the encoding of no other.
func (rec *Records) number(cell string) (float64, error) {
	switch {
	case !commaNumber.MatchString(cell):
		return parseNumber(cell)
	case !rec.DecimalCommas:
		return 0, errDecimalComma
	case thousandNumber.MatchString(cell):
		return 0, errThousands
	}
	return decimal(cell)
}

// decimal reads a number with a decimal comma.
func decimal(cell string) (float64, error) { return parseNumber(strings.Replace(cell, ",", ".", 1)) }

// thousands reads a number whose comma may separate thousands or decimals: as the one of the
// two that is within the column's public range.
func (r *Range) thousands(cell string) (float64, error) {
	part, err := decimal(cell)
	if err != nil {
		return 0, err
	}
	whole := 1000 * part
	within := func(v float64) bool { return r.Lo <= v && v <= r.Hi }
	switch {
	case within(part) && !within(whole):
		return part, nil
	case within(whole) && !within(part):
		return math.Round(whole), nil
	}
	return 0, errThousands
}

// noNumber reports whether a cell of a column of numbers has no value: it is empty, or has
// another program's mark for a missing value. Infinities are values.
func noNumber(cell string) bool {
	return noValue(cell) && !strings.HasPrefix(strings.ToLower(strings.TrimLeft(cell, "+-")), "inf")
}

// parseNumber reads a finite decimal number and nothing else: no "inf", no "nan",
// no hexadecimal, no digit separators.
func parseNumber(s string) (float64, error) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, errNotNumber
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, errNotNumber
	}
	return v, nil
}

// figure reports whether a cell is meant as a number, even if parseNumber rejects it: one
// with a decimal comma, out of range, hexadecimal. It is not a name.
func figure(cell string) bool {
	_, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", "."), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && strings.ContainsAny(cell, "0123456789")
}

// noValue reports whether a cell is empty, or has another program's text for a missing value
// or one that is not finite. Such a text may also be a name.
func noValue(cell string) bool {
	switch strings.TrimLeft(cell, "+-") {
	case "NA", "N/A", "n/a", "na", "#N/A", "nan", "NaN", "NAN", "null", "NULL", "Null", "None", ".",
		"inf", "Inf", "INF", "infinity", "Infinity", "":
		return true
	}
	return missing(cell)
}
