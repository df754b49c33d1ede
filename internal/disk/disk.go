// Package disk tells whether there is room on a disk.
package disk

import (
	"errors"
	"os"
	"slices"
)

// IsFull reports whether an error is that of a write for which there was no room.
func IsFull(err error) bool {
	return slices.ContainsFunc(full, func(e error) bool { return errors.Is(err, e) })
}

// probe is how much HasRoom writes, in bytes.
const probe = 256 << 10

// HasRoom reports whether a file of 256 KiB can be written in a folder. It writes and removes one.
func HasRoom(dir string) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, probe))
	err = errors.Join(err, f.Sync(), f.Close())
	return errors.Join(err, os.Remove(f.Name())) == nil
}
