package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"choir/internal/tomlsize"
)

// Defaults of a schema's file.
const (
	defaultSource = "public: bounds given by the schema's author"
	unfilled      = "?" // a column whose bounds are left to fill
)

// ParseTOML reads a schema from a TOML document: the whole document, or the table with
// the given path in it. docs/schema.md describes the format. Features keep the order of
// the document. The result is validated.
func ParseTOML(doc []byte, table ...string) (*Schema, error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if len(doc) > maxSchemaTOML {
		return nil, schemaErrorf("more than %d bytes; in JSON it may have %d", maxSchemaTOML, maxSchemaBytes)
	}
	if err := tomlsize.Check(doc, maxSchemaKeys); err != nil {
		return nil, schemaErrorf("%w; in JSON it may have more", err)
	}
	var all map[string]any
	if err := toml.Unmarshal(doc, &all); err != nil {
		return nil, tomlError(err)
	}
	for _, key := range table {
		inner, ok := all[key].(map[string]any)
		if !ok {
			return nil, schemaErrorf("there is no table %s", strings.Join(table, "."))
		}
		all = inner
	}
	s := &Schema{Version: SchemaVersion, Source: defaultSource, Missing: Refuse, Unseen: Refuse}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := s.set(key, all[key]); err != nil {
			return nil, err
		}
	}
	order := keyOrder(doc, append(slices.Clone(table), "columns"))
	slices.SortStableFunc(s.Columns, func(a, b Column) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	if s.Target.Name == "" {
		return nil, schemaErrorf("[target] is missing: it has the column to predict")
	}
	if len(s.Columns) == 0 {
		return nil, schemaErrorf("[columns] is missing: it has the columns to predict from")
	}
	return s, s.Validate()
}

func tomlError(err error) error {
	if bad, ok := err.(*toml.DecodeError); ok {
		line, column := bad.Position()
		return schemaErrorf("line %d, column %d: %w", line, column, err)
	}
	return schemaErrorf("%w", err)
}

// set enters one key of a schema's file.
func (s *Schema) set(key string, value any) error {
	text, isText := value.(string)
	switch {
	case slices.Contains([]string{"source", "missing", "unseen"}, key) && !isText:
		return schemaErrorf("%s must be a text in quotes", key)
	case key == "source":
		s.Source = text
	case key == "missing":
		s.Missing = Policy(text)
	case key == "unseen":
		s.Unseen = Policy(text)
	case key == "target":
		columns, err := tomlColumns(key, value, Numeric)
		if err != nil {
			return err
		}
		if len(columns) != 1 {
			return schemaErrorf("[target] has %d columns, want 1", len(columns))
		}
		s.Target = columns[0]
	case key == "columns":
		columns, err := tomlColumns(key, value, byRange)
		s.Columns = columns
		return err
	default:
		return schemaErrorf("unknown key %q; the keys are source, missing, unseen, [target] and [columns]", key)
	}
	return nil
}

// ranged describes a number by its range alone: byRange, or Numeric for a target.
type ranged func(name string, lo, hi float64) Column

func tomlColumns(key string, value any, alone ranged) (columns []Column, err error) {
	table, ok := value.(map[string]any)
	if !ok {
		return nil,
			schemaErrorf("%s must be a table, with a line NAME = [LO, HI] or NAME = [\"A\", \"B\"] a column",
				key)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		c, err := tomlColumn(name, table[name], alone)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// tomlColumn reads [lo, hi], ["A", "B"] or {lo, hi, center, scale}.
func tomlColumn(name string, value any, alone ranged) (Column, error) {
	switch v := value.(type) {
	case string:
		return Column{}, schemaErrorf("column %q: its bounds are left to fill: [LO, HI] for a number, "+
			"[\"A\", \"B\"] for categories, or remove the line", name)
	case []any:
		return tomlList(name, v, alone)
	case map[string]any:
		return tomlRange(name, v, alone)
	}
	return Column{}, schemaErrorf("column %q: want [LO, HI], [\"A\", \"B\"] or "+
		"{ lo = .., hi = .., center = .., scale = .. }", name)
}

func tomlList(name string, list []any, alone ranged) (Column, error) {
	var texts []string
	var numbers []float64
	for _, v := range list {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		} else if x, ok := tomlNumber(v); ok {
			numbers = append(numbers, x)
		}
	}
	switch {
	case slices.Contains(texts, unfilled) && len(texts) == len(list):
		return tomlColumn(name, unfilled, alone)
	case len(texts) == len(list) && len(list) > 0:
		return Categorical(name, texts...), nil
	case len(numbers) == len(list) && len(list) == 2:
		return alone(name, numbers[0], numbers[1]), nil
	}
	return Column{}, schemaErrorf("column %q: want two numbers, [LO, HI], or texts, [\"A\", \"B\"]; "+
		"categories that are numbers go in quotes, too", name)
}

func tomlRange(name string, table map[string]any, alone ranged) (Column, error) {
	given := map[string]float64{}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		x, ok := tomlNumber(table[key])
		if !ok || !slices.Contains([]string{"lo", "hi", "center", "scale"}, key) {
			return Column{}, schemaErrorf("column %q: %s: want numbers lo, hi and perhaps center and scale", name, key)
		}
		given[key] = x
	}
	lo, hasLo := given["lo"]
	hi, hasHi := given["hi"]
	if !hasLo || !hasHi {
		return Column{}, schemaErrorf("column %q: lo and hi are both needed", name)
	}
	c := alone(name, lo, hi)
	if center, ok := given["center"]; ok {
		c.Numeric.Center = center
	}
	if scale, ok := given["scale"]; ok {
		c.Numeric.Scale = scale
	}
	return c, nil
}

func tomlNumber(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// keyOrder returns the keys of a table in the order of the document, which has been
// decoded without an error.
func keyOrder(doc []byte, table []string) (order map[string]int) {
	order = map[string]int{}
	var visit func(path []string, value *unstable.Node)
	visit = func(path []string, value *unstable.Node) {
		if n := len(table); len(path) > n && slices.Equal(path[:n], table) {
			if _, ok := order[path[n]]; !ok {
				order[path[n]] = len(order)
			}
		}
		if value == nil || value.Kind != unstable.InlineTable {
			return
		}
		for kids := value.Children(); kids.Next(); {
			kid := kids.Node()
			visit(append(slices.Clone(path), keyOf(kid)...), kid.Value())
		}
	}
	var p unstable.Parser
	p.Reset(doc)
	var prefix []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			prefix = keyOf(e)
			visit(prefix, nil)
		case unstable.KeyValue:
			visit(append(slices.Clone(prefix), keyOf(e)...), e.Value())
		}
	}
	return order
}

func keyOf(e *unstable.Node) (parts []string) {
	for key := e.Key(); key.Next(); {
		parts = append(parts, string(key.Node().Data))
	}
	return parts
}

// TOML returns the schema in the format that ParseTOML reads.
func (s *Schema) TOML() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "source = %s\nmissing = %s\nunseen = %s\n", strconv.Quote(s.Source),
		strconv.Quote(string(s.Missing)), strconv.Quote(string(s.Unseen)))
	fmt.Fprintf(&b, "\n[target]\n%s\n\n[columns]\n", s.Target.toml(Numeric))
	for _, c := range s.Columns {
		fmt.Fprintln(&b, c.toml(byRange))
	}
	return b.Bytes()
}

func (c Column) toml(alone ranged) string { return tomlKey(c.Name) + " = " + c.tomlValue(alone) }

func (c Column) tomlValue(alone ranged) string {
	if c.Numeric == nil {
		quoted := make([]string, len(c.Categories))
		for i, v := range c.Categories {
			quoted[i] = strconv.Quote(v)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	r := *c.Numeric
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if r == *alone("", r.Lo, r.Hi).Numeric {
		return fmt.Sprintf("[%s, %s]", number(r.Lo), number(r.Hi))
	}
	return fmt.Sprintf("{ lo = %s, hi = %s, center = %s, scale = %s }", number(r.Lo), number(r.Hi),
		number(r.Center), number(r.Scale))
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
