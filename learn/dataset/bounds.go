package dataset

import (
	"fmt"
	"strings"
)

// ParseColumn reads a column description as a flag gives it: "age=17:90" is a number
// clipped into [17, 90] and encoded by this range, "age=17:90:40:14" has its own centre and scale, and
// "ward=A|B|C" lists categories (two of them, negative first, for a classification
// target). The name ends at the first "=".
func ParseColumn(text string) (Column, error) {
	name, rest, ok := strings.Cut(text, "=")
	name = trim(name)
	if !ok || name == "" {
		return Column{}, schemaErrorf("%q is not NAME=LO:HI, NAME=LO:HI:CENTER:SCALE or NAME=A|B", text)
	}
	if strings.Contains(rest, "|") {
		c := Categorical(name, trimAll(strings.Split(rest, "|"))...)
		return c, c.validate()
	}
	if !strings.Contains(rest, ":") {
		return Column{}, schemaErrorf("column %q: %q is neither bounds, LO:HI, nor categories, A|B with two or "+
			"more separated by |", name, rest)
	}
	var v []float64
	for _, part := range strings.Split(rest, ":") {
		x, err := parseNumber(trim(part))
		if err != nil {
			return Column{}, schemaErrorf("column %q: bound %q: %w", name, part, err)
		}
		v = append(v, x)
	}
	var c Column
	switch len(v) {
	case 2:
		c = byRange(name, v[0], v[1])
	case 4:
		c = Standardised(name, v[0], v[1], v[2], v[3])
	default:
		return Column{}, schemaErrorf("column %q: %d numbers, want LO:HI or LO:HI:CENTER:SCALE", name, len(v))
	}
	return c, c.validate()
}

// Override returns a copy of the schema in which the given public columns replace the
// columns (or the target) of the same names. A schema that was inferred counts as public
// only when every column and the target were replaced; until then its Source lists those
// that were not.
func (s *Schema) Override(public ...Column) (*Schema, error) {
	out := *s
	out.Columns = append([]Column(nil), s.Columns...)
	given := map[string]bool{}
	for _, c := range public {
		if given[c.Name] {
			return nil, schemaErrorf("column %q is described twice", c.Name)
		}
		given[c.Name] = true
		if !out.replace(c) {
			return nil, schemaErrorf("column %q is not in the schema; its columns are %s", c.Name,
				List(s.names()))
		}
	}
	if len(given) > 0 {
		out.Source = overridden(s, given)
	}
	return &out, out.Validate()
}

// List names columns in an error, the first twenty of them.
func List(columns []string) string {
	const most = 20
	if len(columns) <= most {
		return strings.Join(columns, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(columns[:most], ", "), len(columns)-most)
}

// names are those of the columns and, last, of the target.
func (s *Schema) names() []string {
	var out []string
	for _, c := range s.Columns {
		out = append(out, c.Name)
	}
	return append(out, s.Target.Name)
}

func (s *Schema) replace(c Column) bool {
	if s.Target.Name == c.Name {
		if c.RangeAlone() {
			c = Numeric(c.Name, c.Numeric.Lo, c.Numeric.Hi)
		}
		s.Target = c
		return true
	}
	for i := range s.Columns {
		if s.Columns[i].Name == c.Name {
			s.Columns[i] = c
			return true
		}
	}
	return false
}

// overridden returns the Source of the new schema.
func overridden(s *Schema, given map[string]bool) string {
	if s.Public() {
		return s.Source
	}
	left := 0
	for _, c := range append([]Column{s.Target}, s.Columns...) {
		if !given[c.Name] {
			left++
		}
	}
	if left == 0 {
		return "public: given by the user"
	}
	return fmt.Sprintf("%d columns given by the user, %d %s", len(given), left, sourceInferred)
}
