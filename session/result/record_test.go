package result

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/protocol"
)

// TestFolderInItself: a folder of records that links to itself is not read again and again, and neither is
// what is no file.
func TestFolderInItself(t *testing.T) {
	dir := t.TempDir()
	if err := WriteRecords(dir, []Record{{Plan: []byte("one"), Transcript: []byte("1")},
		{Plan: []byte("two"), Transcript: []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	if all, err := ReadRecords(dir); err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	around := filepath.Join(dir, beforeDir, beforeDir)
	if err := os.Symlink("..", around); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecords(dir); !errors.Is(err, protocol.ErrMismatch) {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(around), os.Remove(filepath.Join(dir, TranscriptFile)),
		os.Symlink(os.DevNull, filepath.Join(dir, TranscriptFile))); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecords(dir); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Error(err)
	}
}
