package member

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"choir/learn/defaults"
)

// Suffixes of files that are named after the store and only for the party itself:
// they depend on its data without noise. Members whose stores share a folder do
// not share these files.
const (
	privateSuffix = ".private.jsonl" // the share of clipped updates, a line a round
	execSuffix    = ".exec.log"      // what the party's program prints
)

// appender appends to a file that only its owner may read. Every write opens the
// file.
type appender string

// private returns the file with the suffix.
func (m *Member) private(suffix string) io.Writer { return appender(m.Config.StoreFile + suffix) }

// Write implements io.Writer.
func (a appender) Write(p []byte) (int, error) {
	f, err := os.OpenFile(string(a), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

// keepPrivate records the share of clipped updates. If that fails the session goes
// on; the log has the failure without the number.
func (m *Member) keepPrivate(round uint32, clipped float64) {
	line, err := json.Marshal(struct {
		Round   uint32  `json:"round"`
		Clipped float64 `json:"clipped_fraction"`
	}{round, clipped})
	if err == nil {
		_, err = m.private(privateSuffix).Write(append(line, '\n'))
	}
	if err != nil {
		m.Log.Warn("private record", "event", "private", "error", err.Error())
	}
	m.adviseOn(round, clipped)
}

// adviseOn tells the party, in its own log and on its own page, when nearly all of its updates
// are still clipped in the second half of the rounds.
func (m *Member) adviseOn(round uint32, clipped float64) {
	if m.Session.Plan == nil {
		return
	}
	advice := defaults.ClippedAdvice(int(round), int(m.Session.Plan.Rounds), clipped)
	if m.watcher != nil {
		m.watcher.Advise(advice)
	}
	if advice != "" && !m.advised {
		m.advised = true
		m.Log.Warn(advice, "event", "clipped", "round", round, "clipped_fraction", clipped)
	}
}
