package host

import (
	"os"
	"syscall"
)

// syncData makes what was written to a file durable, with as much of its metadata as
// reading it back needs.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
