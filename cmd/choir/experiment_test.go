package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExperimentList: the list names every experiment, in both formats.
func TestExperimentList(t *testing.T) {
	code, out, errs := choir(t, "experiment", "list")
	if code != 0 || !strings.Contains(out, "noisy-factors ") || errs != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	code, out, _ = choir(t, "experiment", "list", "--format", "json")
	var v struct {
		SchemaVersion int `json:"schema_version"`
		Experiments   []struct{ Name, About string }
	}
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil || v.SchemaVersion != 1 ||
		len(v.Experiments) != len(experiments()) || v.Experiments[0].About == "" {
		t.Errorf("exit code %d, %q, %v", code, out, err)
	}
}

// TestExperimentRefusals: a run that is impossible is refused with exit code 4, by a
// message that names the flag, and leaves no files.
func TestExperimentRefusals(t *testing.T) {
	for _, c := range []struct{ args, named string }{
		{args: "experiment run", named: "arg"},
		{args: "experiment run nonsense", named: `"nonsense" is not one of ["noisy-factors"`},
		{args: "experiment run noisy-factors --seeds 0", named: "--seeds"},
		{args: "experiment run noisy-factors --seeds -1", named: "--seeds"},
		{args: "experiment run noisy-factors --seeds many", named: "--seeds"},
		{args: "experiment run noisy-factors --seeds 1001", named: "seeds"},
		{args: "experiment run noisy-factors --format yaml", named: "--format"},
		{args: "experiment list stray", named: `"stray"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			args := strings.Fields(c.args)
			if strings.Contains(c.args, " run ") {
				args = append(args, "--out", out)
			}
			code, stdout, stderr := choir(t, args...)
			first, _, _ := strings.Cut(stderr, "\n")
			if code != 4 || stdout != "" || !strings.HasPrefix(first, "choir: error: ") ||
				!strings.Contains(first, c.named) {
				t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
			}
			if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
				t.Errorf("left behind %v", entries)
			}
		})
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := choir(t, "experiment", "run", "noisy-factors", "--out", full); code != 4 ||
		!strings.Contains(stderr, "--out") {
		t.Errorf("a full folder: exit code %d, %q", code, stderr)
	}
}
