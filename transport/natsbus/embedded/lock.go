package embedded

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrLocked says that another broker serves from a folder.
var ErrLocked = errors.New("another broker serves from this folder")

// lockWait is how long a broker waits for one that is about to end.
const lockWait = 2 * time.Second

// lock takes a folder for one broker: two that write the same streams' files would destroy
// them. The system lets go of it when the process ends, however it does.
func lock(folder string) (*bolt.DB, error) {
	file := filepath.Join(folder, "broker.lock")
	held, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: lockWait})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", folder, ErrLocked)
	case err != nil: // damaged, say; a process that took it away could take it from another that has just made it
		return nil, fmt.Errorf("lock %s, a file with nothing in it that is needed: %w", file, err)
	}
	return held, nil
}
