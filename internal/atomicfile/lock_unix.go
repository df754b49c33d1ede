//go:build unix && !solaris && !illumos && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lock marks a file as one that a process is writing, until release is called, also after the file is
// closed, or the process has ended. Where the file system has no locks, nothing is ever abandoned.
func lock(f *os.File) (release func()) {
	second, err := syscall.Dup(int(f.Fd())) // the lock is of both
	if err != nil || syscall.Flock(second, syscall.LOCK_EX) != nil {
		return func() {}
	}
	syscall.CloseOnExec(second)
	return func() { _ = syscall.Close(second) }
}

// abandoned reports whether the process that was writing a file has ended.
func abandoned(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
