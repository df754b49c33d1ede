package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"choir/protocol"
)

// errDamaged is the error of a tree that cannot be read to its end.
var errDamaged = errors.New("the file is no store, or a damaged one")

// openTree opens or creates the tree of a store and reads all of it once. bbolt trusts its file
// and panics where a truncated or damaged one is read; here that is an error. A file that could
// not be initialized is removed.
func openTree(path string) (*bolt.DB, error) {
	_, missing := os.Stat(path)
	return openOrMake(path, missing)
}

// openOrMake opens the tree; missing is the error of looking for its file before. A file that
// another process has locked since is that process's store and stays.
func openOrMake(path string, missing error) (*bolt.DB, error) {
	db, err := guarded(path)
	if err != nil && errors.Is(missing, fs.ErrNotExist) && !errors.Is(err, bolterrors.ErrTimeout) {
		err = errors.Join(err, removeIfThere(path))
	}
	var io *fs.PathError
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	case errors.As(err, &io):
		return nil, fmt.Errorf("store: %w", err)
	}
	return nil, protocol.Fail(protocol.ClassInput, "store %s: %w: %w", path, errDamaged, err)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// guarded turns panics of bbolt about damaged pages into errors.
func guarded(path string) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a page after the file's end
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
			if _, fault := r.(runtime.Error); fault {
				err = errors.New("a page is missing")
			}
			if db != nil {
				err = errors.Join(err, db.Close())
			}
			db = nil
		}
	}()
	options := &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType}
	if db, err = bolt.Open(path, 0o600, options); err != nil {
		return nil, err
	}
	if err := db.View(walk); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// walk visits every key.
func walk(tx *bolt.Tx) error {
	info, err := os.Stat(tx.DB().Path())
	if err != nil {
		return err
	}
	if info.Size() < tx.Size() {
		return fmt.Errorf("it has %d bytes of %d", info.Size(), tx.Size())
	}
	return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
		return b.ForEach(func(_, _ []byte) error { return nil })
	})
}
