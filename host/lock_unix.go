//go:build unix && !solaris && !illumos && !aix

package host

import (
	"errors"
	"os"
	"syscall"
)

// lock locks an open file until it is closed. It returns errHeld if another process has it locked.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
