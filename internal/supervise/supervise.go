// Package supervise keeps a set of processes on this machine running until
// they are done. What is killed or crashes is started again, after a pause and
// a bounded number of times; each process is expected to go on from its own
// durable state.
//
// Every child's standard input is a pipe from this process that is never
// written to: when the supervisor goes away, however it does, the pipe closes,
// and the children are expected to stop. To stop them it closes the pipe itself,
// and kills what is still there after a while.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Process is one child.
type Process struct {
	Name string
	Role string   // for the table only
	Args []string // after the executable
	// Service runs until all others are done; its own end is always a failure.
	Service bool
	// Again starts a process that is done once more, every so often, while others
	// aren't: it repeats the last thing that it said. 0: never.
	Again time.Duration
	// Log is the file that the child's standard error is appended to, mode 0600.
	Log string
}

// Config says what to run.
type Config struct {
	Executable string
	Processes  []Process
	// Table is a file that always tells who runs under which process id; see
	// Table. Empty: none.
	Table string
	// Line is told each line that a child writes to its standard error. It may be
	// called from several goroutines. May be nil.
	Line func(name string, line []byte)
	// Fatal tells which exit codes no restart heals. May be nil: none.
	Fatal func(code int) bool
	// MaxFailures bounds how often in a row a process may fail by itself within a
	// minute of its start; 0 means 10. Deaths by a signal don't count.
	MaxFailures int
	// MaxRestarts bounds how often a process is started again in all; 0 means 1000.
	MaxRestarts int
	// Backoff is the first pause before a restart, doubled from failure to failure
	// up to 20 times itself; 0 means 100 ms.
	Backoff time.Duration
}

// Validate names what is missing or stands twice.
func (c Config) Validate() error {
	if c.Executable == "" || len(c.Processes) == 0 {
		return errors.New("supervise: Executable and Processes must be set")
	}
	if c.MaxFailures < 0 || c.MaxRestarts < 0 || c.Backoff < 0 {
		return errors.New("supervise: MaxFailures, MaxRestarts and Backoff can't be negative")
	}
	names, lasting := map[string]bool{}, 0
	for _, p := range c.Processes {
		if p.Name == "" || names[p.Name] {
			return fmt.Errorf("supervise: process name %q is empty or stands twice", p.Name)
		}
		names[p.Name] = true
		if !p.Service {
			lasting++
		}
	}
	if lasting == 0 {
		return errors.New("supervise: nothing but services would never end")
	}
	return nil
}

// Failure is how a process ended for good.
type Failure struct {
	Name string
	Code int    // exit code; -1 for a signal
	Last string // the last line that it wrote to its standard error
	Why  string // why it isn't started again
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s (exit code %d): %s", f.Name, f.Why, f.Code, f.Last)
}

// supervisor is a run under way.
type supervisor struct {
	Config
	ctx   context.Context // ends when all must stop
	stop  context.CancelCauseFunc
	mu    sync.Mutex
	rows  []Row
	left  int // processes that aren't done, services apart
	table error
}

// errDone ends a run in which everything is done.
var errDone = errors.New("done")

// Run runs all processes until every one that isn't a service has exited with
// code 0. It returns when no child is left. A process that can't be kept
// running ends all of them: the error then is a *Failure. When ctx ends, all
// are stopped and the error is ctx's.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.MaxFailures == 0 {
		c.MaxFailures = 10
	}
	if c.MaxRestarts == 0 {
		c.MaxRestarts = 1000
	}
	if c.Backoff == 0 {
		c.Backoff = 100 * time.Millisecond
	}
	s := &supervisor{Config: c}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	for _, p := range c.Processes {
		s.rows = append(s.rows, Row{Name: p.Name, Role: p.Role, State: Waiting})
		if !p.Service {
			s.left++
		}
	}
	var group sync.WaitGroup
	for i := range c.Processes {
		group.Go(func() { s.keep(i) })
	}
	group.Wait()
	if err := context.Cause(s.ctx); !errors.Is(err, errDone) {
		return err
	}
	return s.table
}

// keep runs one process until everything is over.
func (s *supervisor) keep(i int) {
	p, pause, failures, done := s.Processes[i], s.Backoff, 0, false
	for restarts := 0; s.ctx.Err() == nil; restarts++ {
		began := time.Now()
		end := s.once(i, restarts)
		if s.ctx.Err() != nil {
			break
		}
		if time.Since(began) > time.Minute {
			pause, failures = s.Backoff, 0
		}
		switch {
		case end.ok() && !p.Service:
			if !done {
				done = true
				s.finished()
			}
			if p.Again == 0 {
				s.sleep(1 << 62)
			} else {
				s.sleep(p.Again)
			}
			continue
		case done: // it only repeated itself
			s.sleep(max(p.Again, s.Backoff))
			continue
		case !end.signalled:
			failures++
		}
		if why := s.hopeless(end, failures, restarts); why != "" {
			s.stop(&Failure{Name: p.Name, Code: end.code, Last: end.last, Why: why})
			break
		}
		s.sleep(pause)
		pause = min(2*pause, 20*s.Backoff)
	}
	s.note(i, func(r *Row) {
		if r.PID = 0; r.State != Done {
			r.State = Stopped
		}
	})
}

// hopeless says why a process isn't started again, "" when it is.
func (s *supervisor) hopeless(e ending, failures, restarts int) string {
	switch {
	case !e.signalled && s.Fatal != nil && s.Fatal(e.code):
		return "ended for good"
	case failures >= s.MaxFailures:
		return fmt.Sprintf("failed %d times in a row", failures)
	case restarts >= s.MaxRestarts:
		return fmt.Sprintf("started %d times", restarts+1)
	}
	return ""
}

func (s *supervisor) finished() {
	s.mu.Lock()
	s.left--
	all := s.left == 0
	s.mu.Unlock()
	if all {
		s.stop(errDone)
	}
}

func (s *supervisor) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// ending is how one life of a process ended.
type ending struct {
	code      int
	signalled bool
	last      string
}

func (e ending) ok() bool { return e.code == 0 && !e.signalled }

// openLog appends to a file that only its owner reads.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
