package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// What the style tests allow. Lower a bound when the tree has become better; never
// raise one.
const (
	mostDialect = 10 // dialect words per 1,000 comment lines of the product
	maxColumns  = 110
	maxFunction = 50 // lines
)

// dialect matches words and phrases that comments should do without: they are
// archaic, or have a term of the field in their place (docs/glossary.md).
var dialect = []*regexp.Regexp{
	regexp.MustCompile(`\b(say|says|said|saying|unsaid)\b`),
	regexp.MustCompile(`\b(nobody|everybody|somebody|whoever|whatever)\b`),
	regexp.MustCompile(`\b(beside|behind|in front)\b`),
	regexp.MustCompile(`\bstands?\b`),
	regexp.MustCompile(`\b(takes?|took|taken|taking) in\b`),
	regexp.MustCompile(`\b(life|lives)\b`),
	regexp.MustCompile(`\bso (many|long|much)\b`),
	regexp.MustCompile(`\b(anew|at the most|of its own)\b`),
	regexp.MustCompile(`\b(held|hold|holds|holding) [a-z ]{0,25}\bto\b`),
}

var comment = regexp.MustCompile(`(?:^|\s)//\s?(.*)$`)

// dialectIn counts the comment lines of a Go source and their dialect words.
func dialectIn(source string) (words, lines int) {
	for line := range strings.Lines(source) {
		m := comment.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		lines++
		for _, d := range dialect {
			words += len(d.FindAllString(strings.ToLower(m[1]), -1))
		}
	}
	return words, lines
}

// source reads a file of the module.
func source(t *testing.T, f file) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", f.path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDialect: comments of the product use the field's words.
func TestDialect(t *testing.T) {
	words, lines := 0, 0
	type count struct{ words, lines int }
	packages := map[string]count{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		w, l := dialectIn(source(t, f))
		words += w
		lines += l
		packages[f.pkg] = count{packages[f.pkg].words + w, packages[f.pkg].lines + l}
	}
	if lines < 3000 {
		t.Fatalf("only %d comment lines", lines)
	}
	if 1000*words <= mostDialect*lines {
		return
	}
	t.Errorf("%d dialect words in %d comment lines: more than %d per 1,000", words, lines, mostDialect)
	for pkg, c := range packages {
		if 1000*c.words > mostDialect*c.lines {
			t.Logf("%s: %d in %d lines", pkg, c.words, c.lines)
		}
	}
}

// TestDialectIsSeen: the count finds what it looks for, and nothing else.
func TestDialectIsSeen(t *testing.T) {
	for _, c := range []struct {
		name, source string
		words, lines int
	}{
		{name: "plain", source: "// A node retransmits.\nx := 1 // unit\n", words: 0, lines: 2},
		{name: "code is no comment", source: "nobody := `behind`\n", words: 0, lines: 0},
		{name: "each word counts", source: "// Nobody says what stands behind it.\n", words: 4, lines: 1},
		{name: "phrases", source: "a() // holds the plan to its terms, so long as it takes in a chunk\n", words: 3,
			lines: 1},
		{name: "part of a word", source: "// essays, standard, livestock\n", words: 0, lines: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if words, lines := dialectIn(c.source); words != c.words || lines != c.lines {
				t.Errorf("%d words in %d lines, want %d in %d", words, lines, c.words, c.lines)
			}
		})
	}
}

// TestLineLength: Go lines have at most maxColumns columns; a tab counts as one.
func TestLineLength(t *testing.T) {
	for _, f := range files(t) {
		at := 0
		for line := range strings.Lines(source(t, f)) {
			at++
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > maxColumns {
				t.Errorf("%s:%d: %d columns, more than %d", f.path, at, n, maxColumns)
			}
		}
	}
}

// TestFunctionLength: a function fits on a screen.
func TestFunctionLength(t *testing.T) {
	checked := 0
	for _, f := range files(t) {
		if f.test {
			continue
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, f.path, source(t, f), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			checked++
			from, to := set.Position(fn.Pos()).Line, set.Position(fn.End()).Line
			if n := to - from + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", f.path, fn.Name.Name, n, maxFunction)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d functions checked", checked)
	}
}
