package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"choir/learn/dataset"
)

// mostCommands bounds what it takes from three files to a verified, reported result.
const mostCommands = 8

// TestGuide runs the commands of docs/guide.md on three hospitals' files.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1)
	script := ""
	for _, b := range blocks {
		script += string(b[1])
	}
	commands := 0
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		if strings.TrimSpace(line) != "" {
			commands++
		}
	}
	if commands < 4 || commands > mostCommands {
		t.Errorf("%d commands, want at most %d", commands, mostCommands)
	}
	dir := t.TempDir()
	hospitals(t, dir)
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	path := filepath.Dir(binary(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PATH="+path, "CHOIR=choir")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.Bytes())
	}
	for _, want := range []string{"every signature, set, sum, result and model holds", "intercept",
		"report.html"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "trial", "result", "report.html")); err != nil {
		t.Error(err)
	}
}

// hospitals writes three files with usual columns.
func hospitals(t *testing.T, dir string) {
	t.Helper()
	s, err := dataset.ParseTOML([]byte(`[target]
died = ["no", "yes"]
[columns]
age = { lo = 0, hi = 110, center = 50, scale = 20 }
sex = ["F", "M"]
sbp = { lo = 50, hi = 260, center = 130, scale = 20 }
lactate = { lo = 0, hi = 20, center = 1.8, scale = 1.5 }
`))
	if err != nil {
		t.Fatal(err)
	}
	twins := dataset.Twins{Schema: s, Signal: 2, Seed: 11}
	for i := range 3 {
		rows, err := twins.Records(uint64(i), 300)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := rows.WriteCSV(&b, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("hospital-%c.csv", 'a'+i)), b.Bytes(),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
}
