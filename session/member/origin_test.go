package member

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"choir/protocol"
	"choir/session/app"
)

// TestLongOrigin: the proposer of a plan signs the digest of a model that is longer than the plan's. Its file
// is short, since zeros are packed, and it is refused before it is unpacked.
func TestLongOrigin(t *testing.T) {
	before := &protocol.Plan{Application: app.NameSum, Dim: 2}
	long := &protocol.Origin{Model: make([]int64, 1<<22)}
	p := &protocol.Plan{Application: app.NameSum, Dim: 2, After: &protocol.Predecessor{Plan: before, Round: 1,
		Attempts: 1, Model: protocol.IntDigest(long.Key, long.Model)}}
	path := filepath.Join(t.TempDir(), "next.choir.origin")
	file := protocol.MarshalOrigin(long)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	_, err := readGiven(path, p)
	runtime.ReadMemStats(&end)
	if n := end.TotalAlloc - start.TotalAlloc; !errors.Is(err, protocol.ErrMismatch) || n > 1<<20 {
		t.Errorf("%d bytes for a file of %d: %v", n, len(file), err)
	}
}
