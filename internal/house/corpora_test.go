package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryFuzzTargetHasACorpus: every target has inputs in testdata/fuzz that once
// covered something new, so that `go test` replays them. `.ci/corpus` makes them.
func TestEveryFuzzTargetHasACorpus(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range target.FindAllStringSubmatch(string(source), -1) {
			found++
			dir := filepath.Join(filepath.Dir(path), "testdata", "fuzz", m[1])
			if inputs, err := os.ReadDir(dir); err != nil || len(inputs) == 0 {
				t.Errorf("%s: %s has no corpus: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("only %d fuzz targets found", found)
	}
}
