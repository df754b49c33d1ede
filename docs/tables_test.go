package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	ruler  = regexp.MustCompile(`^\|( *:?-+:? *\|)+$`)
	action = regexp.MustCompile(`(?m)^{{.*}}\n`) // of a template
)

// badTable returns the first line of a text that begins a table without a header, from 1; 0: none.
func badTable(text string) int {
	lines := strings.Split(text, "\n")
	row := func(i int) bool { // not a text with an absolute value
		return i >= 0 && i < len(lines) && (strings.HasPrefix(lines[i], "| ") || ruler.MatchString(lines[i]))
	}
	for i := range lines {
		if row(i) && !row(i-1) && !(row(i+1) && !ruler.MatchString(lines[i]) && ruler.MatchString(lines[i+1])) {
			return i + 1
		}
	}
	return 0
}

// TestTablesHaveHeaders checks that every row of every page's tables follows a header: a blank line
// before a row ends the table, and the row is text.
func TestTablesHaveHeaders(t *testing.T) {
	rows := 0
	for path, text := range pages(t) {
		text = action.ReplaceAllString(text, "")
		text = fenced.ReplaceAllStringFunc(text, func(code string) string {
			return strings.Repeat("\n", strings.Count(code, "\n"))
		})
		if at := badTable(text); at > 0 {
			t.Errorf("%s:%d: a row without a header", path, at)
		}
		rows += strings.Count(text, "\n|")
	}
	if rows < 500 {
		t.Errorf("only %d rows", rows)
	}
	for text, want := range map[string]int{
		"| a | b |\n|---|---|\n| 1 | 2 |": 0, "| a |\n|:-:|\n\ntext": 0, "x\n| a |\n|---|": 0,
		"| a |\n|---|\n| 1 |\n\n| 2 |": 5, "| a |\n| 1 |": 1, "|---|\n| 1 |": 1, "\n| a |": 2,
	} {
		if got := badTable(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
