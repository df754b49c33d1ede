package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"choir/protocol"
)

// A key is in one of two buckets: with its value, or with the place of its value in the file of
// values.
var (
	bucket = []byte("choir")
	places = []byte("places")
)

// valuesSuffix is what the path of the file of values has after the store's path.
const valuesSuffix = ".values"

// fill is the part of a page that is filled before another is begun. Most keys are those of round after
// round, in order, so that little is put between others later.
const fill = 0.9

// File is a Store in two files: a bbolt file, and one with ".values" added to its name for the long
// values. Both have mode 0600 and belong together. One process at a time can open it.
type File struct {
	db    *bolt.DB
	pages *os.File // db's file, to overwrite its free pages
	long  values
	// reading is locked for writing before places that a transaction has removed from the tree
	// are free, so that readers of those places end first.
	reading sync.RWMutex
	apply   sync.Mutex
	ahead   ahead
	broken  atomic.Pointer[error] // of a value that Get could not read
}

// OpenFile opens or creates a store. It returns ErrLocked after a second if another process has it
// open, and an error of protocol.ClassInput for a path that cannot be a store, or a damaged one. It
// reads every value and compares its checksum: a damaged value is an error here, with its key, rather
// than in the middle of a round, and a damaged key no charge that is missing.
func OpenFile(path string) (*File, error) {
	db, err := openTree(path)
	if err != nil {
		return nil, err
	}
	f := &File{db: db}
	if err := f.open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("store %w", err), f.Close())
	}
	return f, nil
}

func (f *File) open(path string) (err error) {
	if err := f.long.open(path + valuesSuffix); err != nil {
		return err
	}
	for _, p := range []string{path, path + valuesSuffix} {
		if err := private(p); err != nil {
			return err
		}
	}
	if f.pages, err = openPages(path); err != nil {
		return err
	}
	err = f.db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		_, placesErr := tx.CreateBucketIfNotExists(places)
		return errors.Join(err, placesErr)
	})
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = f.erasePages() // of a process that was killed before it did
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// errApart is what people can do about a store that was damaged or copied in part.
var errApart = errors.New("it and the file with " + valuesSuffix + " belong together: copy both while the " +
	"member is stopped; if the disk has failed, \"store takeover\" makes its mirror the store")

// check reads every value and marks the places of long ones as used.
func (f *File) check() error {
	used, err := f.used()
	var io *fs.PathError
	switch {
	case err == nil:
		return f.long.use(used)
	case errors.As(err, &io):
		return err
	}
	return protocol.Fail(protocol.ClassInput, "%w: %w: %w", errDamaged, err, errApart)
}

// used returns all places that the tree names, and reads every value.
func (f *File) used() (used []place, err error) {
	err = f.db.View(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucket, places} {
			if err := found(tx.Bucket(name)); err != nil {
				return err
			}
		}
		return tx.Bucket(places).ForEach(func(k, b []byte) error {
			p, err := placeOf(k, b)
			if err == nil {
				_, err = f.long.read(p)
			}
			if err != nil {
				return fmt.Errorf("the value of %s: %w", k, err)
			}
			used = append(used, p)
			return nil
		})
	})
	return used, err
}

// found checks that every key of a bucket is found and has the checksum of its value. Keys that a page has
// lost would otherwise be keys that were never there.
func found(b *bolt.Bucket) error {
	var last []byte
	return b.ForEach(func(k, v []byte) error {
		_, err := checked(k, v)
		switch {
		case err != nil:
			return fmt.Errorf("the value of %q: %w", k, err)
		case bytes.Compare(last, k) >= 0, !bytes.Equal(b.Get(k), v):
			return fmt.Errorf("the key %q is not in its place", k)
		}
		last = k
		return nil
	})
}

// withSum returns a value as the tree has it, after a checksum of its key and itself.
func withSum(key string, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, sumOf([]byte(key), value)), value...)
}

// checked returns the value that withSum was given.
func checked(key, b []byte) ([]byte, error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b) != sumOf(key, b[4:]) {
		return nil, errAltered
	}
	return b[4:], nil
}

func sumOf(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(append(key[:len(key):len(key)], 0), castagnoli), castagnoli, value)
}

// placeOf returns the place that the tree has for a key.
func placeOf(key, b []byte) (place, error) {
	b, err := checked(key, b)
	if err != nil {
		return place{}, err
	}
	return unmarshalPlace(b)
}

// private refuses a store that other users may read: it contains channel keys.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// On Windows the mode does not show who may read a file.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return protocol.Fail(protocol.ClassInput, "%s: mode %#o lets others read it, want 0600",
			path, info.Mode().Perm())
	}
	return nil
}

// Get implements protocol.View. A long value that could be read when the store was opened and
// cannot be read now is nil, and the store refuses all further transactions: no message that
// depends on it leaves.
func (f *File) Get(key string) (value []byte) {
	f.reading.RLock()
	defer f.reading.RUnlock()
	err := f.db.View(func(tx *bolt.Tx) (err error) {
		if v := tx.Bucket(bucket).Get([]byte(key)); v != nil {
			v, err := checked([]byte(key), v)
			value = append([]byte{}, v...)
			return err
		}
		b := tx.Bucket(places).Get([]byte(key))
		if b == nil {
			return nil
		}
		p, err := placeOf([]byte(key), b)
		if err == nil {
			value, err = f.long.read(p)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("the value of %s: %w", key, err)
		f.broken.CompareAndSwap(nil, &err)
		return nil
	}
	return value
}

// Keys implements protocol.View.
func (f *File) Keys(prefix string) (keys []string) {
	f.reading.RLock()
	defer f.reading.RUnlock()
	_ = f.db.View(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucket, places} {
			c := tx.Bucket(name).Cursor()
			for k, _ := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix); k, _ = c.Next() {
				keys = append(keys, string(k))
			}
		}
		return nil
	})
	slices.Sort(keys)
	return keys
}

// Apply implements Store. Long values are durable before the transaction that names their places
// begins. bbolt syncs its file before it returns.
func (f *File) Apply(records []protocol.Record) error {
	f.apply.Lock()
	defer f.apply.Unlock()
	if broken := f.broken.Load(); broken != nil {
		return fmt.Errorf("store: %w", *broken)
	}
	f.long.release(f.ahead.stale())
	written, err := f.writeLong(records)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	var gone, secret []place
	err = f.db.Update(func(tx *bolt.Tx) error {
		t := treeUpdate{values: tx.Bucket(bucket), places: tx.Bucket(places)}
		t.values.FillPercent = fill
		for i, r := range records {
			if err := t.apply(r, written[i]); err != nil {
				return fmt.Errorf("store: %s: %w", r.Key, err)
			}
		}
		gone, secret = t.gone, t.secret
		return nil
	})
	if err != nil {
		return err // the tree may name the new places: they stay in use
	}
	f.reading.Lock() // readers of these places end first
	defer f.reading.Unlock()
	if erases(records) {
		err = errors.Join(f.long.erase(secret), f.erasePages())
	}
	f.long.release(gone)
	if err != nil {
		return fmt.Errorf("store: erasing: %w", err)
	}
	return nil
}

// writeLong makes the long values among the records durable and returns their places, by record;
// length 0 for the others.
func (f *File) writeLong(records []protocol.Record) (written []place, err error) {
	written = make([]place, len(records))
	long := false
	for i, r := range records {
		if len(r.Value) < longValue {
			continue
		}
		long = true
		if at, ok := f.ahead.claim(r.Value); ok {
			written[i] = at
			continue
		}
		if written[i], err = f.long.write(r.Value); err != nil {
			break
		}
	}
	if err == nil && long {
		err = f.long.sync()
	}
	if err != nil {
		f.long.release(slices.DeleteFunc(written, func(p place) bool { return p.length == 0 }))
	}
	return written, err
}

// treeUpdate is a transaction of the tree.
type treeUpdate struct {
	values, places *bolt.Bucket
	gone           []place // that no key names after it
	secret         []place // of these, those to be overwritten
}

func (t *treeUpdate) apply(r protocol.Record, at place) error {
	if b := t.places.Get([]byte(r.Key)); b != nil {
		p, err := placeOf([]byte(r.Key), b)
		if err != nil {
			return err
		}
		t.gone = append(t.gone, p)
		if r.Erase {
			t.secret = append(t.secret, p)
		}
		if at.length == 0 {
			if err := t.places.Delete([]byte(r.Key)); err != nil {
				return err
			}
		}
	}
	if at.length > 0 {
		b := withSum(r.Key, at.marshal())
		return errors.Join(t.values.Delete([]byte(r.Key)), t.places.Put([]byte(r.Key), b))
	}
	if r.Value == nil {
		return t.values.Delete([]byte(r.Key))
	}
	return t.values.Put([]byte(r.Key), withSum(r.Key, r.Value))
}

// Close closes both files.
func (f *File) Close() error {
	err := errors.Join(f.db.Close(), f.long.close())
	if f.pages != nil {
		err = errors.Join(err, f.pages.Close())
	}
	return err
}
