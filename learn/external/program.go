package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"choir/learn/pvi"
)

// Config describes the program that computes a party's updates.
type Config struct {
	// Command is the program and its arguments; see Split.
	Command []string
	// Timeout bounds one run; 0 is DefaultTimeout.
	Timeout time.Duration
	// Stderr receives the program's standard error; nil discards it. It may contain private
	// data.
	Stderr io.Writer
}

// DefaultTimeout is how long a program may take over one round.
const DefaultTimeout = 10 * time.Minute

// Errors of a run. A failed run changes nothing and may be tried again.
var (
	// ErrProgram: the program could not be started or failed.
	ErrProgram = errors.New("the program failed")
	// ErrTimeout: the program exceeded its time limit and was killed.
	ErrTimeout = errors.New("the program took too long")
)

// validate rejects a program that does not exist.
func (c Config) validate() error {
	if len(c.Command) == 0 {
		return errors.New("no command")
	}
	if c.Timeout < 0 {
		return fmt.Errorf("timeout %s is below 0", c.Timeout)
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	return nil
}

// Program is a party's program; it implements pvi.Outside.
type Program struct {
	cfg     Config
	model   pvi.Config
	records Records
}

// New returns a program for a plan's inference and a party's records.
func New(cfg Config, model pvi.Config, records Records) (*Program, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if err := model.Validate(); err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	return &Program{cfg, model, records}, nil
}

// Updates implements pvi.Outside: one run of the program. Errors: ErrProgram,
// ErrTimeout, ErrAnswer, the context's cause.
func (p *Program) Updates(ctx context.Context, ask pvi.OutsideWork) ([][]float64, error) {
	var request bytes.Buffer
	if err := writeRequest(&request, p.model, p.records, ask); err != nil {
		return nil, err
	}
	// The constant is enough for the zip's directory and the header.
	answer := &bounded{limit: 1<<20 + 16*len(ask.Cavity)*p.model.Dim()}
	if err := p.run(ctx, &request, answer); err != nil {
		return nil, err
	}
	if answer.full {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrAnswer, answer.limit)
	}
	return parseAnswer(answer.kept.Bytes(), ask.Round, len(ask.Cavity), p.model.Dim())
}

func (p *Program) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	limited, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, p.cfg.Command[0], p.cfg.Command[1:]...)
	cmd.Stdin = stdin
	cmd.Stdout = stdout
	cmd.Stderr = p.cfg.Stderr
	cmd.Env = environment(os.LookupEnv)
	cmd.WaitDelay = 2 * time.Second // for children that keep the pipes open after it was killed
	ownGroup(cmd)
	runtime.LockOSThread() // the end of this thread would kill the program; see ownGroup
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(context.Cause(limited), ErrTimeout) && err != nil:
		return fmt.Errorf("%w: no answer within %s", ErrTimeout, p.cfg.Timeout)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return nil
}

// bounded keeps what a program writes, up to a limit, and discards the rest.
type bounded struct {
	kept  bytes.Buffer
	limit int
	full  bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.limit {
		b.full = true
		return len(p), nil
	}
	return b.kept.Write(p)
}

// inherited lists the variables that a program inherits, where they are set: what
// interpreters need to start, and nothing that is Choir's.
func inherited() []string {
	return []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH",
		"PYTHONHOME", "VIRTUAL_ENV",
		"CONDA_PREFIX", "R_HOME", "R_LIBS", "JULIA_DEPOT_PATH", "OMP_NUM_THREADS", "SYSTEMROOT", "TEMP"}
}

func environment(lookup func(string) (string, bool)) []string {
	env := []string{}
	for _, name := range inherited() {
		if v, ok := lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Split splits a command line at spaces. Single and double quotes group; there is no shell, and
// nothing is expanded. A quote that is not closed and an empty line are errors.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command: a quote %c is not closed", quote)
	}
	if open {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("command: it is empty")
	}
	return words, nil
}
