package catalogue

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"choir/lab/study"
)

const results = "../../docs/figures/results"

// TestNames: names are unique and fit into commands and file names.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || s.About == "" || s.Run == nil || filepath.Base(s.Name) != s.Name {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
	}
}

// TestResultsDocument: docs/results.md, the studies' pages, tables and figures are what the kept
// results give, and every kept result is of a study that is listed.
func TestResultsDocument(t *testing.T) {
	all, err := study.ReadAll(results)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(all, "figures/results")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join("../../docs", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what choir experiment report writes (%v)", name, err)
		}
	}
	dir := t.TempDir()
	for _, r := range all {
		if !slices.ContainsFunc(All(), func(s study.Study) bool { return s.Name == r.Name }) {
			t.Errorf("%s is not listed", r.Name)
		}
		if err := r.Write(dir, "svg"); err != nil {
			t.Fatal(err)
		}
	}
	written, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(written) < 4*len(all) {
		t.Fatalf("%d files, %v", len(written), err)
	}
	for _, path := range written {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(results, filepath.Base(path))); err != nil ||
			!bytes.Equal(got, want) {
			t.Errorf("%s is not what its result gives (%v)", filepath.Base(path), err)
		}
	}
}
