//go:build !linux

package host

import "os"

func openDirect(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }

func stagingBuffer(size int) ([]byte, error) { return make([]byte, size), nil }

func freeStagingBuffer([]byte) error { return nil }

// syncData makes a file's contents durable.
func syncData(f *os.File) error { return f.Sync() }
