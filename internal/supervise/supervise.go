// Package supervise keeps a set of processes on this machine running until they
// are done. A process that is killed or fails is started again, after a pause and
// a bounded number of times; it is expected to resume from its durable state.
//
// The standard input of every child is a pipe from this process to which nothing
// is written. When the supervisor ends, however it ends, the pipe closes, and the
// children are expected to stop. On Linux the kernel also kills them.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Process is a child.
type Process struct {
	Name string
	Role string   // for the table only
	Args []string // after the executable
	// Service processes run until all others are done; their end is a failure.
	Service bool
	// Again is the interval after which a process that is done is started again
	// while others are not, to retransmit its last messages. 0: never.
	Again time.Duration
	// Log is the file to which the child's standard error is appended, mode 0600.
	Log string
}

// Config describes what to run.
type Config struct {
	Executable string
	Processes  []Process
	// Table is a file with the process ids; see Table. Empty: none.
	Table string
	// Line receives each line that a child writes to its standard error, possibly
	// from several goroutines. May be nil.
	Line func(name string, line []byte)
	// Restart is told how a process ended that is started again, possibly from several
	// goroutines. May be nil.
	Restart func(name, how string)
	// Fatal reports whether a restart after the exit code is useless. May be nil.
	Fatal func(code int) bool
	// MaxFailures bounds the failures in a row, each within a minute of the start;
	// 0 means 10. Deaths by a signal do not count.
	MaxFailures int
	// Backoff is the first pause before a restart, doubled with each restart up to
	// 20 times itself; 0 means 100 ms.
	Backoff time.Duration
}

// maxRestarts bounds the restarts of a process, deaths by a signal included.
const maxRestarts = 1000

// validate names what is missing or occurs twice.
func (c Config) validate() error {
	if c.Executable == "" || c.MaxFailures < 0 || c.Backoff < 0 {
		return errors.New("supervise: Executable must be set, MaxFailures and Backoff not negative")
	}
	names, services := map[string]bool{}, 0
	for _, p := range c.Processes {
		if p.Name == "" || names[p.Name] {
			return fmt.Errorf("supervise: process name %q is empty or not unique", p.Name)
		}
		names[p.Name] = true
		if p.Service {
			services++
		}
	}
	if services == len(c.Processes) {
		return errors.New("supervise: without a process that ends, services would run forever")
	}
	return nil
}

// Failure is how a process ended that is not started again.
type Failure struct {
	Name string
	Code int    // exit code; -1 for a signal
	Last string // the last line that it wrote to its standard error
	Why  string // why it is not started again
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s (exit code %d): %s", f.Name, f.Why, f.Code, f.Last)
}

// supervisor is the state of Run.
type supervisor struct {
	Config
	ctx  context.Context // ends when all must stop
	stop context.CancelCauseFunc

	mu    sync.Mutex
	rows  []Row
	left  int // processes that are not done, without services
	table error
}

// errDone ends a run in which all processes are done.
var errDone = errors.New("done")

// Run runs all processes until every one that is not a service has exited with
// code 0. It returns when no child is left. If a process cannot be kept running,
// Run stops all of them and returns a *Failure. If ctx ends, Run stops all of them
// and returns the cause.
func Run(ctx context.Context, c Config) error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.MaxFailures == 0 {
		c.MaxFailures = 10
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

// keep runs one process, again and again, until all must stop.
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
		if done || end.ok() && !p.Service {
			if !done {
				done = true
				s.finished()
			}
			s.again(p)
			continue
		}
		if !end.signalled {
			failures++
		}
		if why := s.useless(end, failures, restarts); why != "" {
			s.stop(&Failure{Name: p.Name, Code: end.code, Last: end.last, Why: why})
			break
		}
		if s.Restart != nil {
			s.Restart(p.Name, end.how())
		}
		s.sleep(pause)
		pause = min(2*pause, 20*s.Backoff)
	}
	s.note(i, func(r *Row) {
		r.PID = 0
		if r.State = Stopped; done {
			r.State = Done
		}
	})
}

// again waits until a process that is done is due again.
func (s *supervisor) again(p Process) {
	if p.Again == 0 {
		<-s.ctx.Done()
		return
	}
	s.sleep(max(p.Again, s.Backoff))
}

// useless returns why a process is not started again, "" if it is.
func (s *supervisor) useless(e ending, failures, restarts int) string {
	switch {
	case !e.signalled && s.Fatal != nil && s.Fatal(e.code):
		return "ended for good"
	case failures >= s.MaxFailures:
		return fmt.Sprintf("failed %d times in a row", failures)
	case restarts >= maxRestarts:
		return fmt.Sprintf("started %d times", restarts+1)
	}
	return ""
}

// finished counts a process that is done for the first time.
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
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}
