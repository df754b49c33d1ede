//go:build !unix || solaris || illumos || aix || netbsd || openbsd

package disk

import (
	"errors"
	"syscall"
)

// full are the errors of a write for which there is no room. On Windows these are ERROR_HANDLE_DISK_FULL
// and ERROR_DISK_FULL.
var full = []error{syscall.ENOSPC, syscall.Errno(39), syscall.Errno(112)}

// Free returns errors.ErrUnsupported.
func Free(string) (uint64, error) {
	return 0, errors.ErrUnsupported
}
