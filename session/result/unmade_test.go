package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
)

// TestUnmadeModel: the model of a record without a sum, of 2^28 numbers if the plan asks for them, is not
// made to compare it with a file that can't have it.
func TestUnmadeModel(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &verify.Report{Models: [][]int64{nil}} // to make the model of this report panics
	err := checkModelFiles(dir, &protocol.Plan{Dim: 1 << 28, Application: "sum"}, r)
	if !errors.Is(err, protocol.ErrMismatch) || protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("%v", err)
	}
}
