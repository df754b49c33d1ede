package host

import (
	"bytes"
	"os"

	bolt "go.etcd.io/bbolt"

	"choir/protocol"
)

// bbolt writes changed pages to new places and leaves the old ones as they are, and a long value's
// place is free as it is. Where a transaction replaced a secret, both are overwritten after it,
// so that the store's files do not have what its keys do not name. Journals of the file system and
// blocks that a disk has replaced by others may still have it.

// erases reports whether a record replaces a secret.
func erases(records []protocol.Record) bool {
	for _, r := range records {
		if r.Erase {
			return true
		}
	}
	return false
}

// erasePages overwrites the free pages of the tree. No transaction may run: a reader could have a page
// that was freed after it began.
func (f *File) erasePages() error {
	size := f.db.Info().PageSize
	page, zero := make([]byte, size), make([]byte, size)
	erased := false
	err := f.db.View(func(tx *bolt.Tx) error {
		free, ok := f.listed(tx)
		if !ok {
			var err error
			if free, err = searched(tx); err != nil {
				return err
			}
		}
		for _, id := range free {
			at := int64(id) * int64(size)
			if _, err := f.pages.ReadAt(page, at); err != nil {
				return err
			}
			if bytes.Equal(page, zero) {
				continue
			}
			if _, err := f.pages.WriteAt(zero, at); err != nil {
				return err
			}
			erased = true
		}
		return nil
	})
	if err != nil || !erased {
		return err
	}
	return syncData(f.pages)
}

// openPages opens the tree's file for erasePages.
func openPages(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }
