package dataset

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSignedNumbers: numbers with signs are named as such, with the line and the remedy; ranges, few classes
// and texts are none.
func TestSignedNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		cell func(i int) string
		want string
	}{
		"percentages": {func(i int) string { return fmt.Sprintf("%d%%", i) }, "as % in line 2"},
		"euros":       {func(i int) string { return fmt.Sprintf("\u20ac%d.50", i) }, "as \u20ac in line 2"},
		"spaced":      {func(i int) string { return fmt.Sprintf("%d \u20ac", i) }, "as \u20ac in line 2"},
		"bounds": {func(i int) string {
			if i%20 == 5 {
				return ">90"
			}
			return fmt.Sprint(i)
		}, "as > in line 7"},
		"numbers": {func(i int) string { return fmt.Sprint(i % 30) }, ""},
		"classes": {func(i int) string { return []string{"<30", "30", ">30"}[i%3] }, ""},
		"ranges":  {func(i int) string { return fmt.Sprintf("%d-%d", i%15, i%15+9) }, ""},
		"mixed": {func(i int) string {
			if i%5 == 0 {
				return "unknown"
			}
			return fmt.Sprintf("%d%%", i%30)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := "x,z,y\n"
			for i := range 100 {
				text += fmt.Sprintf("%s,%d,%d\n", c.cell(i), i%7, i%2)
			}
			_, err := read(t, text).InferSchema("y", true)
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrBadData) ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "plain numbers")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestHeaderRemedies: usual mistakes of a first line are named with what to do.
func TestHeaderRemedies(t *testing.T) {
	for text, want := range map[string]string{
		"a|b\n1|2\n":        "separated by |: write commas",
		",a,b\n0,1,2\n":     "index=False",
		"a,,b\n0,1,2\n":     "name the column, or remove it",
		"a,b,,\n1,2,,\n":    "#3\": header: empty name, and no name after it: the lines end in separators",
		"Wards;;\na;b;c\n":  "line 1: one name and empty fields, as a title has: remove the lines above",
		"sep=;\na;b\n1;2\n": "names the separator: remove it",
		"sep=,\na,b\n1,2\n": "names the separator: remove it",
		"a,b\r1,2\r3,4\r":   "carriage return alone",
	} {
		_, err := ReadRecords(strings.NewReader(text), CSVOptions{Name: "t"})
		if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestLineBreakInACategory has a remedy.
func TestLineBreakInACategory(t *testing.T) {
	_, err := read(t, "x,y\n\"a\nb\",0\nc,1\nc,0\n").InferSchema("y", true)
	if err == nil || !strings.Contains(err.Error(), `column "x"`) ||
		!strings.Contains(err.Error(), "line break: mend") {
		t.Errorf("%v", err)
	}
}

// TestManyLevels: a column of many categories, or of several with few rows each, is named.
func TestManyLevels(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint("level ", i)
	}
	for _, c := range []struct {
		levels, rows int
		want         bool
	}{{40, 100_000, true}, {30, 600, false}, {30, 500, true}, {6, 100, true}, {6, 120, false}, {5, 20, false}} {
		s := &Schema{Columns: []Column{Numeric("age", 0, 100), Categorical("note", names[:c.levels]...)}}
		got := strings.Join(s.ManyLevels(c.rows), "; ")
		named := strings.Contains(got, fmt.Sprintf("column note: %d categories", c.levels))
		if (got != "") != c.want || named != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
