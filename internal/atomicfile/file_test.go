package atomicfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
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

// TestWriteFileAfterAKill writes what a killed process has left half, while other processes write: its
// file is removed, and no other one.
func TestWriteFileAfterAKill(t *testing.T) {
	if os.Getenv("CHOIR_TEST_WRITE") != "" {
		dir := os.Getenv("CHOIR_TEST_WRITE")
		f, _, err := create(dir, ".model.json.")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("half of a mod"); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("written\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	if runtime.GOOS == "windows" {
		return // where what is left stays
	}
	dir := t.TempDir()
	start := func() (kill func()) {
		c := exec.Command(os.Args[0], "-test.run=^TestWriteFileAfterAKill$")
		c.Env = append(os.Environ(), "CHOIR_TEST_WRITE="+dir)
		_, in := c.StdinPipe()
		out, err := c.StdoutPipe()
		if err := errors.Join(in, err); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "written\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return func() { _ = c.Process.Kill(); _ = c.Wait() }
	}
	start()()
	defer start()() // goes on writing
	others := []string{".model.json.backup", ".model.json.12x", ".other.json.123", "model.json.5"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if err := WriteFile(filepath.Join(dir, "model.json"), []byte("whole")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(others)+2 {
		t.Errorf("%v, %v", entries, err)
	}
}
