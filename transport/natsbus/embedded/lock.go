package embedded

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrLocked means that another broker serves from a folder.
var ErrLocked = errors.New("another broker serves from this folder; end it, or name another folder")

// lockWait is how long a broker waits for another to end.
const lockWait = 2 * time.Second

// lock locks a folder for one broker: two that write the same streams' files would destroy them.
// The system releases the lock when the process ends.
func lock(folder string) (*bolt.DB, error) {
	file := filepath.Join(folder, "broker.lock")
	held, err := bolt.Open(file, 0o600, &bolt.Options{Timeout: lockWait})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s: %w", folder, ErrLocked)
	case err != nil: // damaged, for instance; removing it could remove one that another process has just made
		return nil, fmt.Errorf("lock %s, a file with nothing in it that is needed: %w", file, err)
	}
	return held, nil
}
