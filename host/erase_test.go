package host

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"choir/protocol"
)

// TestReplacedSecretsLeaveTheFiles checks that neither file of a store has a secret that was replaced
// or deleted to be erased, whatever the sizes, and that without erasing they would.
func TestReplacedSecretsLeaveTheFiles(t *testing.T) {
	for _, size := range []int{32, 5000, longValue, 3*longValue + 1} {
		for _, erase := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d bytes, erase %t", size, erase), func(t *testing.T) {
				rng := rand.New(rand.NewChaCha8([32]byte{byte(size)}))
				path := filepath.Join(t.TempDir(), "store")
				f := openFile(t, path)
				var old [][]byte
				for round := range 4 {
					secret := random(rng, size)
					old = append(old, secret)
					r := protocol.Record{Key: "secrets/1", Value: secret, Erase: erase}
					if round == 3 {
						r.Value = nil
					}
					records := []protocol.Record{r, {Key: fmt.Sprint("other/", round), Value: random(rng, 300)}}
					for k := range 40 { // more than a page of neighbours
						records = append(records, protocol.Record{Key: fmt.Sprint("k/", k), Value: random(rng, 200)})
					}
					if err := f.Apply(records); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(f.Get("secrets/1"), r.Value) {
						t.Fatal("the store has another value")
					}
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				found := 0
				for _, s := range old[:3] {
					found += countIn(t, path, s[:32]) + countIn(t, path+valuesSuffix, s[size-32:])
				}
				if erase != (found == 0) {
					t.Errorf("the files have parts of %d of 3 replaced values", found)
				}
				again := openFile(t, path) // a tree with overwritten pages is whole
				if len(again.Keys("k/")) != 40 || again.Get("secrets/1") != nil {
					t.Error("other keys were lost")
				}
			})
		}
	}
}

// TestOpeningErases: what a process replaced and was killed before it overwrote is overwritten when the store
// is opened again.
func TestOpeningErases(t *testing.T) {
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	path := filepath.Join(t.TempDir(), "store")
	f := openFile(t, path)
	var secrets []protocol.Record
	for k := range 100 {
		secrets = append(secrets, protocol.Record{Key: fmt.Sprint("secrets/", k), Value: random(rng, 900)})
	}
	if err := f.Apply(secrets); err != nil {
		t.Fatal(err)
	}
	err := f.db.Update(func(tx *bolt.Tx) (err error) {
		for _, r := range secrets {
			err = errors.Join(err, tx.Bucket(bucket).Delete([]byte(r.Key)))
		}
		return err
	})
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	left := func() (n int) {
		for _, r := range secrets {
			n += countIn(t, path, r.Value[:32])
		}
		return n
	}
	if before := left(); before < 50 {
		t.Fatalf("the file has %d of 100 replaced values: the comparison would be empty", before)
	}
	if err := openFile(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if n := left(); n > 0 {
		t.Errorf("the file has %d of 100 replaced values", n)
	}
}

// TestFreePagesAreListed compares the list that bbolt keeps of its free pages with a look at every page,
// while a tree grows, shrinks and is opened again: with few free pages and with more than a page can list.
func TestFreePagesAreListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	f := openFile(t, path)
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	most := 0
	for step := range 60 {
		var records []protocol.Record
		for k := range 300 {
			r := protocol.Record{Key: fmt.Sprintf("k/%d/%d", step%20, k), Value: random(rng, rng.IntN(longValue))}
			if step > 40 {
				r.Value = nil
			}
			records = append(records, r)
		}
		if err := f.Apply(records); err != nil {
			t.Fatal(err)
		}
		err := f.db.View(func(tx *bolt.Tx) error {
			listed, ok := f.listed(tx)
			all, err := searched(tx)
			if slices.Sort(listed); !ok || !slices.Equal(listed, all) {
				t.Errorf("step %d: %t, %d pages are listed and %d free", step, ok, len(listed), len(all))
			}
			most = max(most, len(all))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if step%7 == 6 {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			f = openFile(t, path)
		}
	}
	if most < 1000 {
		t.Errorf("at most %d pages were free", most)
	}
}

func countIn(t *testing.T, path string, part []byte) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, part)
}

// TestEraseBesideReaders checks that a reader never sees a page that is overwritten.
func TestEraseBesideReaders(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "store"))
	value := bytes.Repeat([]byte{7}, 900)
	stop, done := make(chan bool), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			for _, k := range f.Keys("k/") {
				if v := f.Get(k); !bytes.Equal(v, value) {
					done <- fmt.Errorf("%s has %d bytes, %x", k, len(v), v[:min(len(v), 8)])
					return
				}
			}
		}
	}()
	for i := range 40 {
		records := []protocol.Record{{Key: "secrets/0", Value: []byte{byte(i)}, Erase: true}}
		for k := range 30 {
			records = append(records, protocol.Record{Key: fmt.Sprint("k/", k), Value: value})
		}
		if err := f.Apply(records); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestJournalErases checks that a record erases if one that it replaced before it was durable does.
func TestJournalErases(t *testing.T) {
	j := NewJournal(NewRam())
	j.add([]protocol.Record{{Key: "a", Value: []byte("1"), Erase: true}, {Key: "b"}})
	j.add([]protocol.Record{{Key: "a", Value: []byte("2")}})
	records := j.begin()
	if !records[0].Erase || string(records[0].Value) != "2" || records[1].Erase {
		t.Errorf("the journal has %+v", records)
	}
}
