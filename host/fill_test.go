package host

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"choir/protocol"
)

// TestRecordsFillPages: a member's records of round after round have keys in order, and fill the pages of
// the tree; bbolt would leave half of each page empty.
func TestRecordsFillPages(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store"))
	rng := rand.New(rand.NewChaCha8([32]byte{}))
	stored := 0
	for round := range 400 {
		var records []protocol.Record
		for i := range 16 {
			r := protocol.Record{Key: fmt.Sprintf("plan/transcript/%08d", round*16+i), Value: random(rng, 250)}
			stored += len(r.Key) + len(r.Value)
			records = append(records, r)
		}
		records = append(records, protocol.Record{Key: "plan/secret", Value: random(rng, 40), Erase: true})
		if err := f.Apply(records); err != nil {
			t.Fatal(err)
		}
	}
	var size int64
	err := f.db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(size) / float64(stored); ratio > 1.5 {
		t.Errorf("%d bytes for %d of keys and values: %.2f times", size, stored, ratio)
	}
}
