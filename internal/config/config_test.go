package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"choir/internal/config"
	"choir/protocol"
)

// TestManyTables: a file of more keys or tables than its decoder takes in seconds is refused before it is
// decoded.
func TestManyTables(t *testing.T) {
	for _, line := range []string{"[[a]]\n", "a = 1\n", "a = {b = {c = 1}}\n"} {
		path := filepath.Join(t.TempDir(), "plan.toml")
		if err := os.WriteFile(path, []byte(strings.Repeat(line, 1<<20/len(line))), 0o600); err != nil {
			t.Fatal(err)
		}
		err := config.ReadTOML(path, new(struct{}))
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "at most 4096") ||
			!strings.Contains(err.Error(), "plan.toml") {
			t.Errorf("%q: %.200v", line, err)
		}
	}
}

// TestLongFile: a file that is too long for settings is refused before it is decoded.
func TestLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.toml")
	text := "x = [" + strings.Repeat("[],", 1<<20) + "]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := config.ReadTOML(path, new(struct{}))
	runtime.ReadMemStats(&after)
	used := after.TotalAlloc - before.TotalAlloc
	if err == nil || !strings.Contains(err.Error(), "right file") || used > 16<<20 {
		t.Errorf("%d bytes: %v", used, err)
	}
}
