package dataset

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"choir/learn/internal/absent"
)

// Encode turns records into a table. Columns are found by name; columns that the schema
// does not use are ignored and noted. The first value that the schema rejects is returned
// as a *LineError.
func (rec *Records) Encode(s *Schema) (*Table, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	e := &encoder{rec: rec, schema: s, dim: s.Dim()}
	if err := e.bind(); err != nil {
		return nil, err
	}
	return e.run()
}

// encoder is the state of one Encode.
type encoder struct {
	rec    *Records
	schema *Schema
	dim    int
	target boundColumn
	cols   []boundColumn
	table  *Table
}

// boundColumn is a schema column with its place in the file and in the row.
type boundColumn struct {
	Column
	from     int            // cell index
	to       int            // first encoded column
	category map[string]int // category -> offset within the block
}

// absent is the error about a column that the file lacks, with the name in the header that differs
// from it by case or surrounding marks only, if there is one.
func (rec *Records) absent(column string) error {
	plain := func(s string) string {
		return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), ""))
	}
	for _, h := range rec.Header {
		if plain(h) == plain(column) {
			return fmt.Errorf("the file has no such column, but %q: rename it in the file", h)
		}
	}
	return errors.New("the file has no such column: the first line must name it")
}

// cellError is the cause of a rejection, with its column.
type cellError struct {
	column string
	err    error
}

func (e *cellError) Error() string { return e.err.Error() }
func (e *cellError) Unwrap() error { return e.err }

// errDrop: the row is to be left out.
var errDrop = errors.New("row dropped")

func (e *encoder) bind() error { return e.bindColumns(true) }

// bindColumns finds the columns; the target only if it is wanted.
func (e *encoder) bindColumns(target bool) error {
	used := map[string]bool{}
	to := 0
	columns := e.schema.Columns
	if target {
		columns = append([]Column{e.schema.Target}, columns...)
	}
	for _, c := range columns {
		b := boundColumn{Column: c, from: e.rec.index(c.Name), to: to}
		if b.from < 0 {
			return &LineError{e.rec.Name, 1, c.Name, e.rec.absent(c.Name)}
		}
		used[c.Name] = true
		b.category = make(map[string]int, len(c.Categories))
		for i, v := range c.Categories {
			b.category[v] = i
		}
		if c.Name == e.schema.Target.Name {
			e.target = b
			continue
		}
		e.cols = append(e.cols, b)
		to += c.width()
	}
	notes := Notes{Clipped: map[string]int{}, Unseen: map[string]int{}, Missing: map[string]int{}}
	for _, h := range e.rec.Header {
		if !used[h] {
			notes.Ignored = append(notes.Ignored, h)
		}
	}
	e.table = &Table{
		Name: e.rec.Name, Columns: e.schema.EncodedColumns(),
		Classification: e.schema.Classification(), Notes: notes,
	}
	return nil
}

func (e *encoder) run() (*Table, error) {
	n := len(e.rec.Cells)
	if n*e.dim > maxCells {
		return nil, badDataf("%d rows of %d encoded columns are more than %d values", n, e.dim, maxCells)
	}
	t := e.table
	t.X, t.Y = make([]float64, n*e.dim), make([]float64, n)
	kept := 0
	for i, cells := range e.rec.Cells {
		row := t.X[kept*e.dim : (kept+1)*e.dim]
		y, err := e.row(row, cells)
		if errors.Is(err, errDrop) {
			clear(row)
			t.Notes.Dropped++
			continue
		}
		if err != nil {
			return nil, e.locate(i, err)
		}
		t.Y[kept] = y
		kept++
	}
	if kept == 0 {
		return nil, &LineError{File: e.rec.Name, Err: errors.New("no rows are left")}
	}
	t.X, t.Y = t.X[:kept*e.dim], t.Y[:kept]
	return t, nil
}

func (e *encoder) locate(i int, err error) error {
	le := &LineError{File: e.rec.Name, Err: err}
	if i < len(e.rec.Lines) {
		le.Line = e.rec.Lines[i]
	}
	var ce *cellError
	if errors.As(err, &ce) {
		le.Column, le.Err = ce.column, ce.err
	}
	return le
}

// row fills one encoded row and returns its target.
func (e *encoder) row(row []float64, cells []string) (float64, error) {
	if err := e.features(row, cells); err != nil {
		return 0, err
	}
	return e.label(cells[e.target.from])
}

// features fills one encoded row.
func (e *encoder) features(row []float64, cells []string) error {
	if len(cells) != len(e.rec.Header) {
		return fmt.Errorf("%d cells for %d columns", len(cells), len(e.rec.Header))
	}
	for _, c := range e.cols {
		if err := e.feature(row[c.to:], &c, cells[c.from]); err != nil {
			return err
		}
	}
	row[e.dim-1] = 1
	return nil
}

func (e *encoder) feature(dst []float64, c *boundColumn, cell string) error {
	if k, ok := c.category[cell]; ok {
		dst[k] = 1
		return nil
	}
	if missing(cell) || c.Numeric != nil && noNumber(cell) {
		return e.missing(dst, c)
	}
	if c.Numeric == nil {
		if e.schema.Unseen == Refuse {
			return unseen(c)
		}
		e.table.Notes.Unseen[c.Name]++
		return nil
	}
	v, err := e.number(c, cell)
	if err == nil {
		dst[0] = v
	}
	return err
}

// unseen is the error about a category, with those of the public schema.
func unseen(c *boundColumn) error {
	const shown = 6
	list := strings.Join(c.Categories[:min(shown, len(c.Categories))], ", ")
	if len(c.Categories) > shown {
		list += fmt.Sprintf(" and %d more", len(c.Categories)-shown)
	}
	return &cellError{c.Name, fmt.Errorf("%w, which has %s", ErrUnseen, list)}
}

// missing leaves the column's zeros, or marks a number, rejects the value, or drops the row.
func (e *encoder) missing(dst []float64, c *boundColumn) error {
	switch e.schema.Missing {
	case Refuse:
		return &cellError{c.Name, fmt.Errorf("%w; complete or leave out the record, or agree on "+
			"missing = \"zero\"", ErrMissing)}
	case Drop:
		return errDrop
	default:
		e.table.Notes.Missing[c.Name]++
		if c.Numeric != nil {
			dst[0] = absent.Number()
		}
		return nil
	}
}

func (e *encoder) number(c *boundColumn, cell string) (float64, error) {
	v, err := e.rec.number(cell)
	if errors.Is(err, errThousands) {
		v, err = c.Numeric.thousands(cell)
	}
	if err != nil {
		return 0, &cellError{c.Name, err}
	}
	v, clipped := c.Numeric.encode(v)
	if clipped {
		e.table.Notes.Clipped[c.Name]++
	}
	return v, nil
}

// label rejects a missing target unless rows may be dropped.
func (e *encoder) label(cell string) (float64, error) {
	c := &e.target
	if k, ok := c.category[cell]; ok {
		return float64(k), nil
	}
	if missing(cell) || c.Numeric != nil && noNumber(cell) {
		if e.schema.Missing == Drop {
			return 0, errDrop
		}
		return 0, &cellError{c.Name, fmt.Errorf("%w; leave records without a target out of the file, or, for "+
			"tables and learning at the dataset level, agree on missing = \"drop\"", ErrMissing)}
	}
	if c.Numeric == nil {
		return 0, unseen(c)
	}
	return e.number(c, cell)
}
