package house

import (
	"go/ast"
	"go/build/constraint"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recipe returns the words of the line of the Makefile that begins with a text.
func recipe(t *testing.T, begins string) []string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(begins) + `(.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("the Makefile has no line that begins with %q", begins)
	}
	return strings.Fields(string(line[1]))
}

// TestSerialPackagesAreSerial: packages that the Makefile tests without the race
// detector start no goroutine.
func TestSerialPackagesAreSerial(t *testing.T) {
	serial, seen := recipe(t, "SERIAL :="), map[string]bool{}
	for _, f := range files(t) {
		if !slices.Contains(serial, f.pkg) {
			continue
		}
		seen[f.pkg] = true
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if _, starts := n.(*ast.GoStmt); starts {
				t.Errorf("%s starts a goroutine and isn't run under the race detector", f.path)
			}
			return true
		})
	}
	if len(serial) == 0 || len(seen) != len(serial) {
		t.Errorf("SERIAL names %d packages, of which %d exist", len(serial), len(seen))
	}
}

// full begins the recipe of the long tests.
const full = "\t$(GO) test -vet=off -timeout 15m $(addprefix ./,$(LONG)) $(addprefix ./,$(LEFT))"

// TestUntaggedRunSeesEveryTest: a test file that is left out under the race detector is in
// a package that the Makefile also tests without it.
func TestUntaggedRunSeesEveryTest(t *testing.T) {
	var plain []string
	for _, word := range slices.Concat(recipe(t, "SERIAL :="), recipe(t, "LONG :="), recipe(t, full)) {
		plain = append(plain, strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/..."))
	}
	tagged := 0
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		for _, group := range f.syntax.Comments {
			line := group.List[0].Text
			if !constraint.IsGoBuild(line) {
				continue
			}
			tag, err := constraint.Parse(line)
			if err != nil {
				t.Fatalf("%s: %v", f.path, err)
			}
			if tag.Eval(func(tag string) bool { return tag == "race" }) ||
				!tag.Eval(func(string) bool { return false }) {
				continue
			}
			tagged++
			if !slices.Contains(plain, f.pkg) {
				t.Errorf("%s doesn't run under the race detector, and %s isn't run without it", f.path, f.pkg)
			}
		}
	}
	if tagged == 0 {
		t.Error("no file is tagged !race: the parsing is wrong")
	}
}

// TestSerialPackagesExist: every package that a recipe names exists.
func TestSerialPackagesExist(t *testing.T) {
	for _, word := range recipe(t, full) {
		dir := strings.TrimSuffix(word, "/...")
		if found, _ := filepath.Glob(filepath.Join("../..", dir, "*.go")); len(found) == 0 {
			t.Errorf("the Makefile tests %s, which has no Go file", word)
		}
	}
}

// TestShortIsReadByTests: the Makefile finds the packages that it has to run in full by what their own
// tests read.
func TestShortIsReadByTests(t *testing.T) {
	for _, f := range files(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Short" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "testing" {
					t.Errorf("%s reads testing.Short: call it in the tests", f.path)
				}
			}
			return true
		})
	}
}

// TestLeftOutTestsRun: each test that make test leaves out exists, and make check runs it.
func TestLeftOutTestsRun(t *testing.T) {
	names := strings.Split(strings.Trim(recipe(t, "PROCESSES :=")[0], "^()$"), "|")
	for _, name := range names {
		if !slices.ContainsFunc(files(t), func(f file) bool {
			return f.pkg == "cmd/choir" && f.syntax.Scope.Lookup(name) != nil
		}) {
			t.Errorf("cmd/choir has no %s", name)
		}
	}
	if !slices.Contains(recipe(t, "\t@$(MAKE) --no-print-directory -j2 full"), "processes") {
		t.Error("make check doesn't run what make test leaves out")
	}
}
