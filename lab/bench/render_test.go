package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/protocol"
)

const documents = "../../docs/benchmarks"

// TestDocuments: the pages and figures are what the kept documents lead to, and no document
// names a folder or a host.
func TestDocuments(t *testing.T) {
	files, err := render(documents)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			got, err := os.ReadFile(filepath.Join(documents, name))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("not what the documents lead to (%v): run choir bench docs", err)
			}
		})
	}
	kept, err := filepath.Glob(filepath.Join(documents, "*.json"))
	if err != nil || len(kept) < 6 {
		t.Fatalf("%d documents: %v", len(kept), err)
	}
	for _, path := range kept {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{"/home", "/root", "/tmp", "/work", "hostname"} {
			if bytes.Contains(b, []byte(private)) {
				t.Errorf("%s names %s", path, private)
			}
		}
	}
}

// TestFiguresShowAllPoints: every cell of the paper's table, and every point of the sweeps,
// is inside its panel.
func TestFiguresShowAllPoints(t *testing.T) {
	all, err := Documents(documents)
	if err != nil {
		t.Fatal(err)
	}
	points := map[string]int{}
	for _, d := range all {
		if d.Figure == nil {
			continue
		}
		for _, p := range d.Figure.Panels {
			for _, c := range p.Curves {
				for _, y := range c.Y {
					points[d.Name]++
					if p.YMin < p.YMax && (y < p.YMin || y > p.YMax) {
						t.Errorf("%s: %s at %g is outside %g to %g", d.Name, c.Name, y, p.YMin, p.YMax)
					}
				}
			}
		}
	}
	if points["table1"] < 26 || points["scale"] < 26 || points["noise"] < 16 {
		t.Errorf("figures have %v points", points)
	}
}

// TestRenderFills: the marked place is filled again and again, and a missing one is named.
func TestRenderFills(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		if _, err := render(dir); protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no documents")
	put("verify.json", `{"schema_version": 1, "part": "verify", "repeats": 1,
		"rows": [{"case": "c", "size": 7, "seconds": 2e-7}]}`)
	if files, err := render(dir); err != nil || len(files) != 1 || len(files["tables.md"]) == 0 {
		t.Errorf("without a README: %d files (%v)", len(files), err)
	}
	put("README.md", "a\n<!-- summary -->\nold\n<!-- /summary -->\nb\n")
	if _, err := WriteRendered(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	text := string(page)
	if err != nil || strings.Contains(text, "old") || !strings.HasSuffix(text, "<!-- /summary -->\nb\n") {
		t.Errorf("%s (%v)", text, err)
	}
	tables, err := os.ReadFile(filepath.Join(dir, "tables.md"))
	if err != nil || !strings.Contains(string(tables), "| c | 7 | 200 ns |") {
		t.Errorf("%s (%v)", tables, err)
	}
	if changed, err := WriteRendered(dir); err != nil || len(changed) > 0 {
		t.Errorf("nothing changed but %v (%v)", changed, err)
	}
	put("README.md", "no place")
	refused("a missing place")
	put("verify.json", "{")
	refused("a broken document")
}
