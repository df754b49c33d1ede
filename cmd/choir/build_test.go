package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"choir/learn/dataset"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir) // a folder left in the temporary ones is no failure
	}
	os.Exit(code)
}

// builtDir is where the real binary is, once it was needed.
var builtDir string

// built is the real binary, built once, without the race detector. The examples of a
// party's own program and of an adversary are in the same folder, and an adversary that breaks a promise.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "choir-built-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	path := filepath.Join(dir, "choir")
	for to, source := range map[string]string{path: ".",
		filepath.Join(dir, "logistic"):  "../../examples/external/go",
		filepath.Join(dir, "adversary"): "../../examples/adversary",
		filepath.Join(dir, "informed"):  "./testdata/informed"} {
		if out, err := exec.Command("go", "build", "-o", to, source).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	return path, nil
})

func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// smallData writes a small CSV and its public schema.
func smallData(t *testing.T, dir string) (data, schema string) {
	t.Helper()
	g := dataset.DefaultGenerator(false, 7)
	g.Rows, g.Features = 300, 3
	made, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := made.Records.WriteCSV(&b, nil); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(made.Schema)
	if err != nil {
		t.Fatal(err)
	}
	data, schema = filepath.Join(dir, "data.csv"), filepath.Join(dir, "schema.json")
	for path, content := range map[string]string{data: b.String(), schema: string(text)} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return data, schema
}
