package house

import (
	"go/ast"
	"go/build/constraint"
	"os"
	"os/exec"
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
			_, starts := n.(*ast.GoStmt)
			if s, ok := n.(*ast.SelectorExpr); ok { // a method of sync.WaitGroup, or internal/parallel
				x, ok := s.X.(*ast.Ident)
				starts = s.Sel.Name == "Go" || ok && x.Name == "parallel"
			}
			if starts {
				t.Errorf("%s starts a goroutine and isn't run under the race detector", f.path)
			}
			return true
		})
	}
	if len(serial) == 0 || len(seen) != len(serial) {
		t.Errorf("SERIAL names %d packages, of which %d exist", len(serial), len(seen))
	}
}

// TestUntaggedRunSeesEveryTest: a test file that is left out under the race detector is run without it: by
// make test in every package, and in full too if it leaves something out there.
func TestUntaggedRunSeesEveryTest(t *testing.T) {
	unit := recipe(t, "\t$(GO) test -vet=off -short -p $(AT_ONCE) -timeout 10m -skip '$(PROCESSES)'")
	if !slices.Equal(unit, []string{"./..."}) {
		t.Errorf("make test runs %v, not every package", unit)
	}
	full, tagged := recipe(t, "\t.ci/left $(GO) test -vet=off -timeout 15m --"), 0
	if !slices.Equal(full, []string{"$(LONG)", "$(SERIAL)"}) {
		t.Errorf("make full runs %v", full)
	}
	plain := slices.Concat(recipe(t, "SERIAL :="), recipe(t, "LONG :="))
	for _, f := range files(t) {
		if !f.test || !raceless(t, f) {
			continue
		}
		tagged++
		if len(sampled(f.syntax)) > 0 && !slices.Contains(plain, f.pkg) {
			t.Errorf("%s doesn't run under the race detector, and %s isn't run in full without it", f.path, f.pkg)
		}
	}
	if tagged == 0 {
		t.Error("no file is tagged !race: the parsing is wrong")
	}
}

// raceless reports whether a file is built without the race detector alone.
func raceless(t *testing.T, f file) bool {
	for _, group := range f.syntax.Comments {
		line := group.List[0].Text
		if !constraint.IsGoBuild(line) {
			continue
		}
		tag, err := constraint.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		if !tag.Eval(func(tag string) bool { return tag == "race" }) &&
			tag.Eval(func(string) bool { return false }) {
			return true
		}
	}
	return false
}

// sampled are the functions of a file that leave something out in short runs: they read testing.Short, or
// call rapid.Check, which reads it.
func sampled(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		name := "a variable"
		if fn, ok := d.(*ast.FuncDecl); ok {
			name = fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "testing" && s.Sel.Name == "Short" ||
					x.Name == "rapid" && s.Sel.Name == "Check") {
					names = append(names, name)
				}
			}
			return true
		})
	}
	return names
}

// TestSampledTestsRunInFull: .ci/left, by which the Makefile runs in full what make test runs in part, finds
// each such test, since only tests read whether the run is short.
func TestSampledTestsRunInFull(t *testing.T) {
	args, folders := append([]string{"printf", `%s\n`, "--"}, recipe(t, "LONG :=")...), []string{}
	args = append(args, recipe(t, "SERIAL :=")...)
	var names []string
	for _, f := range files(t) {
		here := sampled(f.syntax)
		for _, name := range here {
			if !f.test || !strings.HasPrefix(name, "Test") {
				t.Errorf("%s: %s reads testing.Short or calls rapid.Check: do it in the test", f.path, name)
			}
		}
		if len(here) > 0 && slices.Contains(args, f.pkg) {
			names, folders = append(names, here...), append(folders, "./"+f.pkg)
		}
	}
	slices.Sort(names)
	slices.Sort(folders)
	cmd := exec.Command(".ci/left", args...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) < 2 || lines[0] != "-run" {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Split(strings.Trim(lines[1], "^()$"), "|")
	slices.Sort(got)
	slices.Sort(lines[2:])
	if want := slices.Compact(names); !slices.Equal(got, want) {
		t.Errorf(".ci/left runs the tests %v, want %v", got, want)
	}
	if want := slices.Compact(folders); !slices.Equal(lines[2:], want) {
		t.Errorf(".ci/left runs tests of %v, want %v", lines[2:], want)
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

// TestRepeatedTestsExist: each test that the race detector needn't see is one of a package that runs without
// it too.
func TestRepeatedTestsExist(t *testing.T) {
	long := recipe(t, "LONG :=")
	for _, pattern := range strings.Split(recipe(t, "REPEATED :=")[0], "|") {
		test, _, _ := strings.Cut(pattern, "/")
		name := strings.Trim(test, "^$")
		if !slices.ContainsFunc(files(t), func(f file) bool {
			return f.test && slices.Contains(long, f.pkg) && f.syntax.Scope.Lookup(name) != nil
		}) {
			t.Errorf("no package of LONG has %s", name)
		}
	}
}
