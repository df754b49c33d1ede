package member

import (
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
)

// TestWorkerKeys checks that a node writes a key for each of its workers, the same ones each time, and
// that a worker has that key and not the node's.
func TestWorkerKeys(t *testing.T) {
	c := &Config{StoreFile: filepath.Join(t.TempDir(), "node.db")}
	for _, workers := range []int{2, 3, 3} {
		if err := c.EnsureWorkerKeys(workers); err != nil {
			t.Fatal(err)
		}
	}
	node, err := c.workerGroup(3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{string(node.Secret.Bytes()): true}
	for k := range 3 {
		own, err := groupOf(c.oneWorkerKeyPath(k), 3)
		if err != nil {
			t.Fatal(err)
		}
		if key := string(own.Secret.Bytes()); seen[key] || key != string(node.Worker(k).Secret.Bytes()) {
			t.Errorf("worker %d has a key of another, or none that the node derives", k)
		} else {
			seen[key] = true
		}
	}
	b, err := os.ReadFile(c.oneWorkerKeyPath(0))
	if err == nil {
		err = os.WriteFile(c.oneWorkerKeyPath(1), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureWorkerKeys(3); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a worker with another's key: %v", err)
	}
}
