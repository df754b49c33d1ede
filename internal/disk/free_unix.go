//go:build unix && !solaris && !illumos && !aix && !netbsd && !openbsd

package disk

import "syscall"

// full are the errors of a write for which there is no room: on the disk, in the user's quota, or in the
// limit of a file's size.
var full = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// Free returns the bytes that this user may still write in a folder.
func Free(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
