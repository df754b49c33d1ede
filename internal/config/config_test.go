package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"choir/internal/config"
)

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
