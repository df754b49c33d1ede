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

// TestDocuments: README.md and the figures are what the kept documents lead to, and
// none of them names a folder.
func TestDocuments(t *testing.T) {
	files, err := Render(documents)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(documents, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s isn't what the documents lead to (%v): run choir bench docs", name, err)
		}
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

// TestRenderFills: a place is filled and filled again, and a missing one is named.
func TestRenderFills(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("verify.json", `{"schema_version": 1, "part": "verify", "repeats": 1, "rows": [{"case": "c", "size": 7, "seconds": 2e-7}]}`)
	put("README.md", "a\n<!-- verify -->\nold\n<!-- /verify -->\nb\n")
	for range 2 {
		if _, err := WriteRendered(dir); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if text := string(b); err != nil || !strings.Contains(text, "| c | 7 | 200 ns |") || strings.Contains(text, "old") || !strings.HasSuffix(text, "<!-- /verify -->\nb\n") {
			t.Errorf("%s (%v)", b, err)
		}
	}
	if changed, err := WriteRendered(dir); err != nil || len(changed) > 0 {
		t.Errorf("nothing changed but %v (%v)", changed, err)
	}
	put("README.md", "no place")
	if _, err := Render(dir); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a missing place: %v", err)
	}
	put("verify.json", "{")
	if _, err := Render(dir); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a broken document: %v", err)
	}
}
