package supervise

import (
	"os"
	"time"

	"choir/internal/atomicfile"
)

// State is the state of a process.
type State string

// The states.
const (
	Waiting State = "waiting" // to be started
	Running State = "running"
	Done    State = "done"    // exited with code 0
	Stopped State = "stopped" // with all others
)

// Row is a process in the table.
type Row struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	PID      int    `json:"pid"` // 0: not running
	Restarts int    `json:"restarts"`
	State    State  `json:"state"`
}

// Table is the file with the process ids.
type Table struct {
	SchemaVersion int       `json:"schema_version"`
	Supervisor    int       `json:"supervisor_pid"`
	Updated       time.Time `json:"updated"`
	Processes     []Row     `json:"processes"`
}

// note changes a row and writes the table. A table that cannot be written stops
// nothing; Run reports it at the end.
func (s *supervisor) note(i int, change func(*Row)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.rows[i])
	if s.Table == "" {
		return
	}
	t := Table{SchemaVersion: 1, Supervisor: os.Getpid(), Updated: time.Now().UTC(), Processes: s.rows}
	if err := atomicfile.WriteJSON(s.Table, t); err != nil {
		s.table = err
	}
}
