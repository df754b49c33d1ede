package simulate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read is a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestModelNamesTheCode: the functions and files that docs/model/README.md gives for the models' steps exist.
func TestModelNamesTheCode(t *testing.T) {
	var text string
	readme := read(t, "docs", "model", "README.md")
	for _, table := range strings.Split(readme, "\n| process | step | code |\n")[1:] {
		rows, _, _ := strings.Cut(table, "\n\n")
		text += rows
	}
	var code strings.Builder
	for _, dir := range []string{"party", "compute", "protocol", "host"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				code.WriteString(read(t, dir, filepath.Base(f)))
			}
		}
	}
	name := regexp.MustCompile("`(?:protocol\\.)?([A-Za-z]+)`")
	file := regexp.MustCompile(`[a-z]+/[a-z]+\.go`)
	names := name.FindAllStringSubmatch(text, -1)
	for _, m := range names {
		if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + m[1] + `\b`).MatchString(code.String()) {
			t.Errorf("no function or type %s", m[1])
		}
	}
	for _, path := range file.FindAllString(text, -1) {
		read(t, filepath.FromSlash(path))
	}
	if len(names) < 15 {
		t.Errorf("only %d names", len(names))
	}
}

// TestModelBugs: each bug of the models stands in the table of docs/model/README.md, and make model plants
// it.
func TestModelBugs(t *testing.T) {
	macro := regexp.MustCompile(`BUG_[A-Z_]+`)
	var models string
	for _, name := range []string{"choir.pml", "sealing.pml", "joining.pml"} {
		models += read(t, "docs", "model", name)
	}
	planted := macro.FindAllString(models, -1)
	slices.Sort(planted)
	planted = slices.Compact(planted)
	readme, script := read(t, "docs", "model", "README.md"), read(t, ".ci", "model")
	for _, bug := range planted {
		if !strings.Contains(readme, "| `"+bug+"` |") {
			t.Errorf("%s isn't in the table", bug)
		}
		if !regexp.MustCompile(`\b(D?BUG_)?` + strings.TrimPrefix(bug, "BUG_") + `\b`).MatchString(script) {
			t.Errorf("make model doesn't plant %s", bug)
		}
	}
	if len(planted) < 15 {
		t.Errorf("only %d bugs", len(planted))
	}
}
