package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// patience is the time that a child has for stopping once its input has closed.
const patience = 10 * time.Second

// ending is how a run of a process ended.
type ending struct {
	code      int
	signalled bool
	last      string // line on standard error
}

func (e ending) ok() bool { return e.code == 0 && !e.signalled }

// once runs a process once. When all must stop, the child's input is closed; after
// patience it is killed.
func (s *supervisor) once(i, restarts int) ending {
	runtime.LockOSThread() // the death of this thread would kill the child; see dieWithParent
	defer runtime.UnlockOSThread()
	p := s.Processes[i]
	lines := &lineWriter{line: func(b []byte) {
		if s.Line != nil {
			s.Line(p.Name, b)
		}
	}}
	cmd := exec.CommandContext(s.ctx, s.Executable, p.Args...)
	cmd.SysProcAttr = dieWithParent()
	cmd.Stderr = lines
	cmd.WaitDelay = patience
	if p.Log != "" {
		log, err := os.OpenFile(p.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return ending{code: 1, last: err.Error()}
		}
		defer log.Close() // a log is best effort
		cmd.Stderr = io.MultiWriter(log, lines)
	}
	input, err := cmd.StdinPipe()
	if err == nil {
		cmd.Cancel = input.Close
		err = cmd.Start()
	}
	if err != nil {
		return ending{code: 1, last: err.Error()}
	}
	s.note(i, func(r *Row) { r.PID, r.Restarts, r.State = cmd.Process.Pid, restarts, Running })
	e := endingOf(cmd.Wait(), cmd.ProcessState)
	e.last = lines.last()
	s.note(i, func(r *Row) {
		r.PID = 0
		if r.State = Waiting; e.ok() {
			r.State = Done
		}
	})
	return e
}

func (e ending) how() string {
	if e.signalled {
		return "was killed by a signal"
	}
	return fmt.Sprintf("ended with exit code %d", e.code)
}

func endingOf(err error, state *os.ProcessState) ending {
	if state == nil {
		return ending{code: 1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ending{code: -1, signalled: true}
	}
	code := state.ExitCode()
	if code == 0 && err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		code = 1
	}
	return ending{code: code}
}

// maxLine bounds what is kept of a line without an end.
const maxLine = 64 << 10

// lineWriter splits what a child writes into lines.
type lineWriter struct {
	line func([]byte)
	mu   sync.Mutex
	rest []byte
	kept string
}

// Write implements io.Writer; it never fails.
func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			w.kept = string(line)
			w.line(line)
		}
		w.rest = rest
	}
	if len(w.rest) > maxLine {
		w.rest = nil
	}
	w.rest = bytes.Clone(w.rest)
	return len(b), nil
}

func (w *lineWriter) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}
