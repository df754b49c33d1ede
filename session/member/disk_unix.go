//go:build unix && !solaris && !illumos && !aix && !netbsd && !openbsd

package member

import "syscall"

// freeSpace returns the bytes that this user may still write in a folder.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
