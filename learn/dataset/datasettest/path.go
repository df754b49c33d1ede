// Package datasettest finds the reference data sets for tests. A test that needs one
// and cannot have it fails: nothing here skips.
package datasettest

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the folder of a data set ("adult", "wine", "abalone") below $CHOIR_DATA
// and fails the test if it is not there.
func Path(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("CHOIR_DATA")
	if root == "" {
		t.Fatalf("CHOIR_DATA is not set: point it to a folder that holds %s/ (choir data get %s --dir DIR fetches it)", name, name)
	}
	dir := filepath.Join(root, name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Fatalf("CHOIR_DATA has no folder %s: %v", name, err)
	}
	return dir
}
