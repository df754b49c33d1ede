package host

import (
	"os"
	"syscall"
)

// openDirect opens a file whose writes go past the page cache, to the disk: half the
// time for what is to be durable at once, and no processor time for a copy that nobody
// reads. A file system that knows no such writes gets ordinary ones.
func openDirect(path string) (*os.File, error) {
	if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_DIRECT, 0); err == nil {
		return f, nil
	}
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// stagingBuffer is memory from which such writes may come: whole pages.
func stagingBuffer(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func freeStagingBuffer(b []byte) error { return syscall.Munmap(b) }

// syncData makes what was written to a file durable, with as much of its metadata as
// reading it back needs.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
