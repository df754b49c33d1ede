package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// patience is how long a child may take to stop once its input has closed.
const patience = 10 * time.Second

// once runs one life of a process. When all must stop, the child's input is
// closed, and what doesn't heed that is killed.
func (s *supervisor) once(i, restarts int) ending {
	p := s.Processes[i]
	lines := &lineWriter{line: func(b []byte) {
		if s.Line != nil {
			s.Line(p.Name, b)
		}
	}}
	cmd := exec.Command(s.Executable, p.Args...)
	cmd.Stderr = lines
	cmd.WaitDelay = time.Second
	if p.Log != "" {
		log, err := openLog(p.Log)
		if err != nil {
			return ending{code: 1, last: err.Error()}
		}
		defer log.Close() // what could be written was
		cmd.Stderr = io.MultiWriter(log, lines)
	}
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return ending{code: 1, last: err.Error()}
	}
	s.note(i, func(r *Row) { r.PID, r.Restarts, r.State = cmd.Process.Pid, restarts, Running })
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	err = s.await(cmd.Process, input, waited)
	e := endingOf(err, cmd.ProcessState)
	e.last = lines.last()
	s.note(i, func(r *Row) {
		if r.PID, r.State = 0, Waiting; e.ok() {
			r.State = Done
		}
	})
	return e
}

func (s *supervisor) await(child *os.Process, input io.Closer, waited <-chan error) error {
	select {
	case err := <-waited:
		return err
	case <-s.ctx.Done():
	}
	_ = input.Close() // the child sees the end of its input, or is gone
	select {
	case err := <-waited:
		return err
	case <-time.After(patience):
	}
	_ = child.Kill() // it may just have gone
	return <-waited
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

// lineWriter cuts what a child writes into lines.
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
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			break
		}
		line := w.rest[:i]
		if len(bytes.TrimSpace(line)) > 0 {
			w.kept = string(line)
			w.line(line)
		}
		w.rest = w.rest[i+1:]
	}
	if len(w.rest) > maxLine {
		w.rest = nil
	}
	w.rest = append([]byte(nil), w.rest...)
	return len(b), nil
}

func (w *lineWriter) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}
