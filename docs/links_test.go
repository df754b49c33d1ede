package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the module's Markdown files, by path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, func(path, text string) {
		// Templates of the pages in docs/results have the links of those pages, which are checked.
		if strings.HasSuffix(path, ".md") && !strings.HasPrefix(path, "lab/catalogue/pages/") {
			all[path] = text
		}
	})
	if len(all) < 20 || all["README.md"] == "" {
		t.Fatalf("%d pages found: the tests would check nothing", len(all))
	}
	return all
}

// walk calls visit for every file of documents or code, by path from the module's root.
func walk(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == "testdata" || name == "choir-data" || name == "choir-out" || len(name) > 2 &&
			name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md" && filepath.Ext(name) != ".go":
			return nil
		}
		rel, err := filepath.Rel("..", path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestLinks: every relative link of every page leads to a file that is there, and its
// fragment to a heading of that file.
func TestLinks(t *testing.T) {
	all, checked := pages(t), 0
	for from, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := from
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(from), file))
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: (%s) leads nowhere", from, m[1])
			} else if fragment != "" && !anchors(all[target])[fragment] {
				t.Errorf("%s: (%s): %s has no such heading", from, m[1], target)
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d links checked", checked)
	}
}

// anchors are the fragments that GitHub gives a page's headings: lower case, spaces to
// dashes, punctuation gone.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		found[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ",
			"-")] = true
	}
	return found
}

// TestPagesAreReached: whoever follows links from the README comes to every page of
// docs/, in two steps at most. What a page is filled from (docs/figures) and the decisions,
// which are a folder to look through, don't count.
func TestPagesAreReached(t *testing.T) {
	all := pages(t)
	near := map[string]bool{"README.md": true}
	for range 2 {
		for from := range maps.Clone(near) {
			for _, m := range link.FindAllStringSubmatch(all[from], -1) {
				file, _, _ := strings.Cut(m[1], "#")
				near[filepath.ToSlash(filepath.Join(filepath.Dir(from), file))] = true
			}
		}
	}
	for page := range all {
		counts := strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/decisions/") &&
			!strings.HasPrefix(page, "docs/figures/")
		if counts && !near[page] {
			t.Errorf("%s isn't two links from the README", page)
		}
	}
}

// TestNamedDecisions: every decision that a comment or a page names has a record.
func TestNamedDecisions(t *testing.T) {
	records := map[string]bool{}
	files, err := filepath.Glob("decisions/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		number, _, _ := strings.Cut(filepath.Base(f), "-")
		records[strings.TrimLeft(number, "0")] = true
	}
	named, checked := regexp.MustCompile(`(?i)\bdecision \[?0*([1-9][0-9]*)\b`), 0
	walk(t, func(path, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if checked++; !records[m[1]] {
				t.Errorf("%s: there is no %s", path, m[0])
			}
		}
	})
	if checked < 40 {
		t.Errorf("only %d decisions checked", checked)
	}
}

// TestNamedDocuments: a document that the code's comments name is there, and so is every
// test that a page names, or tells its reader to run.
func TestNamedDocuments(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md`)
	run := regexp.MustCompile(`go test(?: -[a-z]+)* \.?/?([a-z0-9/.]+) -(run|bench) '?([A-Za-z/_]+)`)
	var documents, runs int
	tests := regexp.MustCompile("`(Test[A-Z]\\w+)`")
	functions := map[string]string{} // the test functions of a folder
	all := ""
	walk(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			functions[filepath.ToSlash(filepath.Dir(path))] += text
			all += text
		}
	})
	walk(t, func(path, text string) {
		for _, name := range named.FindAllString(text, -1) {
			documents++
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s, which isn't there", path, name)
			}
		}
		if !strings.HasSuffix(path, ".md") {
			return
		}
		for _, m := range tests.FindAllStringSubmatch(text, -1) {
			if runs++; !strings.Contains(all, "func "+m[1]+"(") {
				t.Errorf("%s: there is no test %s", path, m[1])
			}
		}
		for _, m := range run.FindAllStringSubmatch(text, -1) {
			if m[3] == "none" { // benchmarks alone
				continue
			}
			runs++
			prefix, _, _ := strings.Cut(m[3], "/")
			what := "Test"
			if m[2] == "bench" {
				what = "Benchmark"
			}
			if !regexp.MustCompile(`func ` + what + `\w*` + strings.TrimPrefix(prefix,
				what)).MatchString(functions[strings.TrimPrefix(m[1], "./")]) {
				t.Errorf("%s: %q runs nothing", path, m[0])
			}
		}
	})
	if documents < 20 || runs < 40 {
		t.Errorf("only %d documents and %d runs checked", documents, runs)
	}
}
