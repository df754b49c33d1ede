package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"choir/learn/internal/absent"
)

// Limits of a schema; they keep a plan readable and its decoder bounded.
const (
	maxColumns     = 4096
	maxCategories  = 4096
	maxEncoded     = 1 << 16 // encoded columns, including the bias
	maxNameBytes   = 256
	maxSourceBytes = 1024
)

// Policy determines how a value that the schema does not cover is encoded.
type Policy string

const (
	// Refuse rejects the value; the error names line and column.
	Refuse Policy = "refuse"
	// Zero marks a missing number, which counts as the mean that rounds measure, or as the public
	// centre where none do, encodes a missing or unseen category as a block of zeros, and counts it
	// in Notes.
	Zero Policy = "zero"
	// Drop leaves the row out and counts it in Notes; for missing values only. The rows
	// after it move up, so that a caller who assigns rows by position must not rely on one
	// row's value moving none of the others.
	Drop Policy = "drop"
)

// Range is the public description of a number: v is clipped into [Lo, Hi] and
// becomes (v - Center) / Scale.
type Range struct {
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Center float64 `json:"center"`
	Scale  float64 `json:"scale"`
}

// Column describes one source column: exactly one of Numeric and Categories is set.
// As a feature, Categories become a one-hot block in the order given. As a target,
// Categories are {negative, positive} and the task is binary classification.
type Column struct {
	Name       string   `json:"name"`
	Numeric    *Range   `json:"numeric,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// Schema is the public description of how rows are encoded. It is part of the signed
// plan: two parties with equal schemas encode equal rows equally.
type Schema struct {
	Version int `json:"version"` // 1
	// Source names the origin of bounds and categories; Public reads it.
	Source  string   `json:"source"`
	Target  Column   `json:"target"`
	Columns []Column `json:"columns"` // features, in encoded order
	Missing Policy   `json:"missing"` // empty cells, and "?" unless it is a category
	Unseen  Policy   `json:"unseen"`  // Refuse or Zero
}

// SchemaVersion is the version that this package writes and reads.
const SchemaVersion = 1

// sourceInferred marks a schema whose bounds were computed from the rows themselves.
const sourceInferred = "inferred from data: not private"

// Numeric describes a number in [lo, hi], mapped to [-1, 1].
func Numeric(name string, lo, hi float64) Column {
	return Standardised(name, lo, hi, lo/2+hi/2, hi/2-lo/2)
}

// quarter is the unit of a column whose range is all that is public, in halves of its range. A standard
// deviation is about a sixth of the range [Hozo05], and the mean may be as far from the middle.
const quarter = 0.5

// byRange describes a feature in [lo, hi] of which nothing else is public, mapped to [-2, 2], so that its
// weight is about as long as that of a standardised column. [0, 1] is mapped to [-1, 1]: most are codes.
func byRange(name string, lo, hi float64) Column {
	c := Numeric(name, lo, hi)
	if !c.Numeric.flag() {
		c.Numeric.Scale *= quarter
	}
	return c
}

// RangeAlone reports whether nothing but the range of a number is public.
func (c Column) RangeAlone() bool {
	if c.Numeric == nil {
		return false
	}
	r := *c.Numeric
	return r == *byRange("", r.Lo, r.Hi).Numeric || r == *Numeric("", r.Lo, r.Hi).Numeric
}

// Standardised describes a number in [lo, hi] with the given centre and scale.
func Standardised(name string, lo, hi, center, scale float64) Column {
	return Column{Name: name, Numeric: &Range{Lo: lo, Hi: hi, Center: center, Scale: scale}}
}

// Categorical describes a column with the given categories.
func Categorical(name string, categories ...string) Column {
	return Column{Name: name, Categories: categories}
}

// Binary describes a two-valued target.
func Binary(name, negative, positive string) Column {
	return Column{Name: name, Categories: []string{negative, positive}}
}

// Public reports whether the schema claims to be independent of the data. It is
// the author's claim; nothing can check it.
func (s *Schema) Public() bool { return s.Source != "" && !inferred(s.Source) }

// LeftOutAs begins what people are told of columns that an inferred or drafted schema leaves out.
const LeftOutAs = "left out as identifiers, dates, free text or constants: "

// LeftOut lists the columns of a file's header that the schema doesn't have.
func (s *Schema) LeftOut(header []string) (out []string) {
	has := s.names()
	for _, name := range header {
		if !slices.Contains(has, name) {
			out = append(out, name)
		}
	}
	return out
}

// Classification reports whether the target has categories.
func (s *Schema) Classification() bool { return s.Target.Numeric == nil }

// EncodedColumns names the columns of an encoded table: a numeric column keeps its
// name, a category is "name=value", and Bias comes last.
func (s *Schema) EncodedColumns() []string {
	names := make([]string, 0, s.Dim())
	for _, c := range s.Columns {
		if c.Numeric != nil {
			names = append(names, c.Name)
			continue
		}
		for _, v := range c.Categories {
			names = append(names, c.Name+"="+v)
		}
	}
	return append(names, Bias)
}

// Dim is the number of encoded columns, the bias included.
func (s *Schema) Dim() int {
	d := 1
	for _, c := range s.Columns {
		d += c.width()
	}
	return d
}

// Validate rejects a schema that does not encode every row in exactly one way.
func (s *Schema) Validate() error {
	switch {
	case s.Version != SchemaVersion:
		return schemaErrorf("version %d, want %d", s.Version, SchemaVersion)
	case s.Source == "" || len(s.Source) > maxSourceBytes || !utf8.ValidString(s.Source):
		return schemaErrorf("source must be 1 to %d bytes of UTF-8 that name the origin of the bounds",
			maxSourceBytes)
	case s.Missing != Refuse && s.Missing != Zero && s.Missing != Drop:
		return schemaErrorf("missing: %q is not refuse, zero or drop", s.Missing)
	case s.Unseen != Refuse && s.Unseen != Zero:
		return schemaErrorf("unseen: %q is not refuse or zero", s.Unseen)
	case len(s.Columns) == 0 || len(s.Columns) > maxColumns:
		return schemaErrorf("%d columns, want 1 to %d", len(s.Columns), maxColumns)
	}
	if err := s.Target.validate(); err != nil {
		return err
	}
	if n := len(s.Target.Categories); s.Target.Numeric == nil && n != 2 {
		return schemaErrorf("target %q has %d categories, want negative and positive", s.Target.Name, n)
	}
	return s.validateColumns()
}

func (s *Schema) validateColumns() error {
	seen := map[string]bool{s.Target.Name: true}
	for _, c := range s.Columns {
		if err := c.validate(); err != nil {
			return err
		}
		if seen[c.Name] {
			return schemaErrorf("column %q appears twice", c.Name)
		}
		seen[c.Name] = true
	}
	if d := s.Dim(); d > maxEncoded {
		return schemaErrorf("%d encoded columns, at most %d", d, maxEncoded)
	}
	names := s.EncodedColumns()
	seen = make(map[string]bool, len(names))
	for _, n := range names {
		if seen[n] {
			return schemaErrorf("two encoded columns are called %q", n)
		}
		seen[n] = true
	}
	return nil
}

// Levels has, for each category among the features, its first encoded column and the one after its last.
func (s *Schema) Levels() [][2]int {
	var out [][2]int
	at := 0
	for _, c := range s.Columns {
		if c.Numeric == nil {
			out = append(out, [2]int{at, at + c.width()})
		}
		at += c.width()
	}
	return out
}

func (c Column) width() int {
	if c.Numeric != nil {
		return 1
	}
	return len(c.Categories)
}

func (c Column) validate() error {
	if err := checkName(c.Name); err != nil {
		return schemaErrorf("column %q: %w", c.Name, err)
	}
	if (c.Numeric != nil) == (c.Categories != nil) {
		return schemaErrorf("column %q: want either a numeric range or categories", c.Name)
	}
	if c.Numeric != nil {
		return c.Numeric.validate(c.Name)
	}
	if n := len(c.Categories); n == 0 || n > maxCategories {
		return schemaErrorf("column %q: %d categories, want 1 to %d", c.Name, n, maxCategories)
	}
	seen := make(map[string]bool, len(c.Categories))
	for _, v := range c.Categories {
		if err := checkName(v); err != nil {
			return schemaErrorf("column %q, category %q: %w", c.Name, v, err)
		}
		if seen[v] {
			return schemaErrorf("column %q: category %q appears twice", c.Name, v)
		}
		seen[v] = true
	}
	return nil
}

func (r *Range) validate(name string) error {
	for _, v := range []float64{r.Lo, r.Hi, r.Center, r.Scale} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return schemaErrorf("column %q: bounds, center and scale must be finite", name)
		}
	}
	if r.Lo >= r.Hi {
		return schemaErrorf("column %q: lo %g is not below hi %g", name, r.Lo, r.Hi)
	}
	if r.Scale <= 0 {
		return schemaErrorf("column %q: scale %g is not positive", name, r.Scale)
	}
	if math.IsInf(r.bound(), 0) || math.IsNaN(r.bound()) {
		return schemaErrorf("column %q: the encoded range overflows", name)
	}
	return nil
}

// bound is the largest magnitude of an encoded value.
func (r *Range) bound() float64 {
	return math.Max(math.Abs((r.Lo-r.Center)/r.Scale), math.Abs((r.Hi-r.Center)/r.Scale))
}

// encode returns the encoded value and whether it had to be clipped.
func (r *Range) encode(v float64) (float64, bool) {
	c := math.Min(math.Max(v, r.Lo), r.Hi)
	return absent.Present((c - r.Center) / r.Scale), c != v
}

// checkName rejects names that no cell, trimmed of space, could equal, or that would garble
// a message.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("empty name")
	case len(s) > maxNameBytes:
		return fmt.Errorf("name longer than %d bytes", maxNameBytes)
	case !utf8.ValidString(s):
		return errors.New("name is not UTF-8; save the file as UTF-8")
	case s != trim(s):
		return errors.New("name has space around it")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return errors.New("name has an unprintable character, such as a line break: mend the values, or leave " +
				"the column out")
		}
	}
	return nil
}
