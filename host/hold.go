package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"choir/protocol"
)

// holdWait is how long Hold waits for another process to end.
const holdWait = time.Second

// lockSuffix is what the path of a store's lock has after the store's path.
const lockSuffix = ".lock"

// errHeld means that another process has the lock of a file.
var errHeld = errors.New("locked")

// Hold lets one process at a time work with the store at a path, and with the files that are named after
// it, until release is called. It does not open the store. The system releases the lock of a process that
// has ended, however it did. The error is ErrLocked, with the process that has the lock, after a second.
func Hold(path string) (release func() error, err error) {
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: lock: %w", err)
	}
	for since := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if err = lock(f); !errors.Is(err, errHeld) || time.Since(since) >= holdWait {
			break
		}
	}
	if errors.Is(err, errHeld) {
		err = fmt.Errorf("%s: %w%s", path, ErrLocked, holder(f))
	} else if err == nil {
		err = errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n"))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// holder names the process that has the lock, as far as it is known.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 20))
	pid, numErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || numErr != nil {
		return ""
	}
	return fmt.Sprintf(", pid %d: end it, or wait until it has ended", pid)
}
