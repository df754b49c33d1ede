package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"choir/protocol"
)

// random returns n bytes.
func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return b[:n]
}

// longKeys are keys whose values are shorter and longer than longValue.
var longKeys = []string{"share/1/1", "share/1/2", "model", "short", "x"}

func drawLong(t *rapid.T, rng *rand.Rand) (records []protocol.Record) {
	for range rapid.IntRange(1, 4).Draw(t, "records") {
		r := protocol.Record{Key: rapid.SampledFrom(longKeys).Draw(t, "key"), Erase: rapid.Bool().Draw(t, "erase")}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
		case 1:
			lengths := []int{0, 1, 100, longValue - 1, longValue, longValue + 1}
			r.Value = bytes.Repeat([]byte{7}, rapid.SampledFrom(lengths).Draw(t, "length"))
		default:
			r.Value = random(rng, rapid.IntRange(longValue-16, 3*longValue).Draw(t, "length"))
		}
		records = append(records, r)
	}
	return records
}

// TestLongValuesAreAMap checks that the file store is a map, with short and long values and reopened
// at any moment, and that every byte of the file of values is used once or free.
func TestLongValuesAreAMap(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{16}`).Draw(t, "name"))
		rng := rand.New(rand.NewChaCha8([32]byte{byte(n)}))
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { f.Close() }()
		oracle := map[string][]byte{}
		for range rapid.IntRange(1, 8).Draw(t, "transactions") {
			records := drawLong(t, rng)
			if err := f.Apply(records); err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if delete(oracle, r.Key); r.Value != nil {
					oracle[r.Key] = r.Value
				}
			}
			if rapid.Bool().Draw(t, "reopen") {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if f, err = OpenFile(path); err != nil {
					t.Fatal(err)
				}
			}
			checkLong(t, f, oracle)
		}
	})
}

func checkLong(t *rapid.T, f *File, oracle map[string][]byte) {
	for _, k := range longKeys {
		want, there := oracle[k]
		if got := f.Get(k); (got != nil) != there || !bytes.Equal(got, want) {
			t.Fatalf("%s: %d bytes (%t), want %d (%t)", k, len(got), got != nil, len(want), there)
		}
	}
	if got := len(f.Keys("")); got != len(oracle) {
		t.Fatalf("%d keys, want %d", got, len(oracle))
	}
	used, err := f.used()
	if err != nil {
		t.Fatal(err)
	}
	if got := size(f, used); got != f.long.end {
		t.Fatalf("%d bytes are used or free, of %d", got, f.long.end)
	}
}

// TestFreePlacesAreReused checks that rounds that store and delete the same amount need no more space
// than two of them: the next one is written before the last one is deleted.
func TestFreePlacesAreReused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f, rng := openFile(t, path), rand.New(rand.NewChaCha8([32]byte{1}))
	const chunk = 40_000
	for round := range 20 {
		for part := range 5 {
			r := []protocol.Record{{Key: "share/" + string(rune('a'+part)), Value: random(rng, chunk)}}
			if err := f.Apply(append(r, protocol.Record{Key: "model", Value: random(rng, chunk)})); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
	info, err := os.Stat(path + valuesSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(8 * (chunk + align)); info.Size() > most {
		t.Errorf("the file of values has %d bytes after 20 rounds, want at most %d", info.Size(), most)
	}
}

// TestOrdinaryWrites checks that a file system that refuses direct writes gets ordinary ones, and
// that no value is lost.
func TestOrdinaryWrites(t *testing.T) {
	f, rng := openFile(t, filepath.Join(t.TempDir(), "store.db")), rand.New(rand.NewChaCha8([32]byte{4}))
	before, after := random(rng, 8*longValue), random(rng, 8*longValue)
	if err := f.Apply([]protocol.Record{{Key: "before", Value: before}}); err != nil {
		t.Fatal(err)
	}
	if err := f.long.w.Close(); err != nil { // the next write fails
		t.Fatal(err)
	}
	if err := f.Apply([]protocol.Record{{Key: "after", Value: after}}); err != nil {
		t.Fatal(err)
	}
	if !f.long.plain || !bytes.Equal(f.Get("before"), before) || !bytes.Equal(f.Get("after"), after) {
		t.Error("a value was lost between two kinds of writes")
	}
}

// TestPaddingIsZero checks that a value's last page is zero after the value, also where a longer one
// was written through the same buffer before: its bytes may be a secret, and this copy is
// not erased with it.
func TestPaddingIsZero(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f := openFile(t, path)
	for _, r := range []protocol.Record{
		{Key: "secret", Value: bytes.Repeat([]byte{0xff}, 4*longValue)},
		{Key: "next", Value: bytes.Repeat([]byte{1}, longValue+1)},
	} {
		if err := f.Apply([]protocol.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path + valuesSuffix)
	if err != nil {
		t.Fatal(err)
	}
	next := place{at: 4 * longValue, length: longValue + 1}
	if int64(len(b)) < next.extent().end() || b[next.at] != 1 {
		t.Fatalf("the second value is elsewhere in %d bytes", len(b))
	}
	if padding := b[next.at+next.length : next.extent().end()]; bytes.ContainsFunc(padding, notZero) {
		t.Errorf("bytes of an earlier value follow the value: %x", padding[:16])
	}
}

func notZero(r rune) bool { return r != 0 }

// TestPlacesAreFreeAfterACrash checks that values that were written for a transaction that did not
// come use no space after a restart, and that the others stay.
func TestPlacesAreFreeAfterACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f, rng := openFile(t, path), rand.New(rand.NewChaCha8([32]byte{3}))
	kept, lost := random(rng, 8*longValue), random(rng, 8*longValue)
	if err := f.Apply([]protocol.Record{{Key: "kept", Value: kept}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.writeLong([]protocol.Record{{Key: "lost", Value: lost}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFile(t, path)
	if f.Get("lost") != nil || !bytes.Equal(f.Get("kept"), kept) {
		t.Error("a value without a transaction is there, or another is not")
	}
	end := f.long.end
	if err := f.Apply([]protocol.Record{{Key: "next", Value: lost}}); err != nil {
		t.Fatal(err)
	}
	if f.long.end != end+(place{length: 8 * longValue}).extent().size || !bytes.Equal(f.Get("next"), lost) {
		t.Errorf("the file ends at %d, then at %d", end, f.long.end)
	}
}

// TestDamageIsRefused changes a byte of the file of values, truncates or removes it, before and after
// the store is opened. The store refuses transactions then.
func TestDamageIsRefused(t *testing.T) {
	damage := map[string]func(path string) error{
		"changed": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"cut":  func(path string) error { return os.Truncate(path, longValue) },
		"lost": os.Remove,
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			f := openFile(t, path)
			long := protocol.Record{Key: "share/1", Value: bytes.Repeat([]byte{1, 2, 3}, longValue)}
			if err := f.Apply([]protocol.Record{long}); err != nil {
				t.Fatal(err)
			}
			if name == "changed" { // the open file changes
				if err := do(path + valuesSuffix); err != nil {
					t.Fatal(err)
				}
				if f.Get("share/1") != nil {
					t.Error("a damaged value was read")
				}
				err := f.Apply([]protocol.Record{{Key: "a", Value: []byte{}}})
				if err == nil || !strings.Contains(err.Error(), "share/1") {
					t.Errorf("a transaction of a store with a damaged value: %v", err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if name != "changed" {
				if err := do(path + valuesSuffix); err != nil {
					t.Fatal(err)
				}
			}
			if f, err := OpenFile(path); err == nil || !strings.Contains(err.Error(), "share/1") {
				t.Errorf("opened: %v", err)
				f.Close()
			}
		})
	}
}

// TestDamagedPlaceIsRefused names lengths in the tree that the file of values does not have: the store
// reports the key, when it is opened and when it is open, and does not ask for memory.
func TestDamagedPlaceIsRefused(t *testing.T) {
	const length = 3 * longValue
	for _, damaged := range []place{
		{length: 1 << 40}, {at: 1 << 60, length: 1 << 40}, {length: length + align}, {at: align, length: length},
	} {
		path := filepath.Join(t.TempDir(), "store.db")
		f := openFile(t, path)
		long := protocol.Record{Key: "share/1", Value: bytes.Repeat([]byte{1, 2, 3}, longValue)}
		if err := f.Apply([]protocol.Record{long}); err != nil {
			t.Fatal(err)
		}
		err := f.db.Update(func(tx *bolt.Tx) error {
			return tx.Bucket(places).Put([]byte("share/1"), withSum("share/1", damaged.marshal()))
		})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("share/1: a place of %d bytes at %d", damaged.length, damaged.at)
		if f.Get("share/1") != nil {
			t.Errorf("%+v was read", damaged)
		}
		if err := f.Apply(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a transaction with %+v: %v", damaged, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err := OpenFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened with %+v: %v", damaged, err)
			f.Close()
		}
	}
}

// FuzzPlace checks that a place has one form, and that one that is parsed is within its bounds.
func FuzzPlace(f *testing.F) {
	f.Add(place{at: 1 << 20, length: 524363, sum: 1}.marshal())
	f.Add(place{at: 0, length: 2_000_000, sum: 1 << 31}.marshal())
	f.Add(make([]byte, placeSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := unmarshalPlace(b)
		if err != nil {
			return
		}
		if !bytes.Equal(p.marshal(), b) || p.extent().end() < p.length || p.extent().size%align != 0 {
			t.Errorf("%x is %+v", b, p)
		}
	})
}
