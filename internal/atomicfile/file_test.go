package atomicfile

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteJSON(t *testing.T) {
	type doc struct {
		Version int     `json:"schema_version"`
		Text    string  `json:"text"`
		Value   float64 `json:"value"`
	}
	path := filepath.Join(t.TempDir(), "result.json")
	if err := WriteJSON(path, doc{1, "<a & b>", .5}); err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"schema_version\": 1,\n  \"text\": \"<a & b>\",\n  \"value\": 0.5\n}\n"
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
	for name, v := range map[string]any{
		"no version": map[string]int{"x": 1}, "version 0": doc{}, "array": []int{1}, "null": nil, "NaN": doc{1, "",
			math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			if err := WriteJSON(path, v); err == nil {
				t.Error("not refused")
			}
		})
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("a refused document changed the file: %q, %v", b, err)
	}
}

func TestWriteCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.csv")
	rows := [][]any{{1, .1, "a,b", true}, {uint64(2), math.NaN(), "say \"x\"", nil}}
	if err := WriteCSV(path, []string{"round", "epsilon", "note", "ok"}, rows); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"round", "epsilon", "note", "ok"}, {"1", "0.1", "a,b", "true"},
		{"2", "", "say \"x\"", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, row := range map[string][]any{
		"short": {1}, "infinite": {1, math.Inf(1), "", nil}, "type": {1, 2, struct{}{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := WriteCSV(path, []string{"round", "epsilon", "note", "ok"}, [][]any{row}); err == nil {
				t.Error("not refused")
			}
		})
	}
	if err := WriteCSV(path, nil, nil); err == nil {
		t.Error("no columns: not refused")
	}
}

// A write that cannot finish leaves the old file and no rubbish.
func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	file := filepath.Join(dir, "f")
	for _, content := range []string{"one", "two"} {
		if err := WriteFile(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != content {
			t.Errorf("%q, %v", b, err)
		}
	}
}
