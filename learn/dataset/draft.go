package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Draft is a schema's file that people complete.
type Draft struct {
	Text []byte
	// Open names the columns whose bounds are left to fill.
	Open []string
	// Left names the columns that are left out.
	Left []string
}

// DraftSchema writes a schema's file from a header. The rows, of which there may be none,
// decide the type of a column and which common two-valued code it has, and nothing else:
// ranges come from a dictionary of usual columns, or are left to fill. The result depends
// on the rows by these types only.
func (rec *Records) DraftSchema(target string) (*Draft, error) {
	at := rec.index(target)
	if at < 0 {
		return nil, &LineError{rec.Name, 1, target, errors.New("the target is not a column of the file")}
	}
	d := &Draft{}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# How columns are encoded: see docs/schema.md. Fill in every "?".
# A number is clipped into [LO, HI]. Take bounds from textbooks, instruments or the law,
# never from the rows: they are public, and part of what every member signs. Where a
# centre and a scale are publicly known, to two digits, a model learns more from few rows.
source = "public: textbook ranges"
missing = "zero"    # an empty cell: refuse, zero or drop (the row)
unseen = "zero"     # a category that is not listed: refuse or zero

[target]
%s

[columns]
`, rec.draftColumn(at, true, d))
	for i := range rec.Header {
		if i != at {
			fmt.Fprintln(&b, rec.draftColumn(i, false, d))
		}
	}
	d.Text = b.Bytes()
	return d, nil
}

// draftColumn is the line of one column.
func (rec *Records) draftColumn(i int, target bool, d *Draft) string {
	name := rec.Header[i]
	line := tomlKey(name) + " = "
	values, numeric := rec.numbers(i)
	doubtful := rec.almostNumbers(i) != nil
	numeric = numeric || doubtful
	categories, err := rec.categories(i)
	known := len(rec.Cells) > 0 && err == nil
	if why := rec.unusable(i, numeric, categories, err); why != "" && !target {
		d.Left = append(d.Left, name)
		return "# " + tomlKey(name) + " is left out: " + why
	}
	if pair := pairOf(present(categories)); known && pair != nil {
		if numeric && !target {
			return line + "[0, 1]"
		}
		return line + Categorical("", pair...).tomlValue(byRange)
	}
	if u, ok := usual(name); ok && (!known || numeric) {
		c := Standardised("", u.lo, u.hi, u.center, u.scale)
		return line + c.tomlValue(byRange) + "    # " + u.unit + "; check the unit"
	}
	d.Open = append(d.Open, name)
	line += strconv.Quote(unfilled) + "    # "
	switch {
	case known && numeric && target && len(categories) == 2:
		return line + "two categories, negative first: [\"A\", \"B\"], in quotes also where they are numbers"
	case known && numeric && (doubtful || len(values) > 0):
		return line + "a number: [LO, HI], or { lo = .., hi = .., center = .., scale = .. }"
	case known && target:
		return line + "two categories, negative first: [\"A\", \"B\"]"
	case known:
		return line + "categories: [\"A\", \"B\", ...]"
	}
	return line + "a number: [LO, HI]; categories: [\"A\", \"B\"]"
}

// unusable tells why a column is none to learn from, "" if it may be one, by its categories or the error of
// finding them.
func (rec *Records) unusable(i int, numeric bool, categories []string, err error) string {
	switch texts := present(categories); {
	case identifies(rec.Header[i]):
		return "an identifier or a date"
	case numeric && rec.counts(i):
		return "it numbers the rows"
	case numeric:
		return ""
	case len(texts) > 0 && !slices.ContainsFunc(texts, func(v string) bool { return !isDate(v) }):
		return "dates or times"
	case manyTexts(len(texts), len(rec.Cells)), errors.Is(err, errManyValues):
		return "identifiers or free text"
	}
	return ""
}

// clockForms are usual ways to write a time of day, and dateForms a day.
var clockForms = []string{"15:04", "15:04:05", "3:04 PM"}

var dateForms = []string{"2006-1-2", "2006/1/2", "2.1.2006", "2/1/2006", "1/2/2006", "2-1-2006"}

// isDate reports whether a text is a day, a time of day, or both.
func isDate(text string) bool {
	if written(text, clockForms) {
		return true
	}
	day := text
	if at := strings.IndexAny(text, " T"); at >= 0 {
		day = text[:at]
	}
	return written(day, dateForms)
}

func written(text string, forms []string) bool {
	return slices.ContainsFunc(forms, func(form string) bool {
		_, err := time.Parse(form, text)
		return err == nil
	})
}

// present leaves out what marks a missing value.
func present(categories []string) (values []string) {
	for _, v := range categories {
		if !noValue(v) {
			values = append(values, v)
		}
	}
	return values
}
