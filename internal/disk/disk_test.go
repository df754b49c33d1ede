package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if !HasRoom(dir) {
		t.Error("no room in a new folder")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error("HasRoom leaves files:", left, err)
	}
	if HasRoom(filepath.Join(dir, "none")) {
		t.Error("room in a folder that does not exist")
	}
	for _, e := range full {
		if !IsFull(fmt.Errorf("store: %w", &fs.PathError{Op: "write", Path: "x", Err: e})) {
			t.Errorf("%v is not recognised", e)
		}
	}
	if IsFull(nil) || IsFull(fs.ErrNotExist) {
		t.Error("an error that has nothing to do with room is recognised")
	}
	if _, err := Free(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
