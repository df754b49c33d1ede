//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUmask: a file is no more open than the process wants its files to be.
func TestUmask(t *testing.T) {
	dir := t.TempDir()
	for umask, want := range map[int]os.FileMode{0o022: 0o644, 0o027: 0o640, 0o077: 0o600} {
		path := filepath.Join(dir, "result.json")
		before := syscall.Umask(umask)
		err := WriteFile(path, []byte("{}"))
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("under umask %03o the mode is %03o, want %03o", umask, got, want)
		}
	}
}
