package member

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"choir/learn/dataset"
	"choir/learn/external"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// execLog is where a party's program says what it likes: for the party's own eyes,
// since it may come from its data. It lies beside the store.
const execLog = "exec.log"

// outside is the party's own program, or nil.
func (m *Member) outside(a app.Spec, data pvi.Data, schema *dataset.Schema) (pvi.Outside, error) {
	if m.Config.Exec == "" {
		return nil, nil
	}
	l, ok := a.(*app.PVI)
	if !ok {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: a plan of application %q leaves nothing for a program to compute", a.Name())
	}
	command, err := external.Split(m.Config.Exec)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	p, err := external.New(external.Config{Command: command, Timeout: m.Config.Timing.Exec.Duration, Stderr: m.private(execLog)},
		l.PVI, external.Records{Data: data, Columns: schema.EncodedColumns(), Classes: schema.Target.Categories})
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	return &patient{outside: p, log: m.Log, pause: pause}, nil
}

// private is a file beside the store that this member alone may read.
func (m *Member) private(name string) io.Writer {
	return appender(filepath.Join(filepath.Dir(m.Config.StoreFile), name))
}

// appender is a file that every write opens anew: a program's run is short beside a
// session.
type appender string

// Write implements io.Writer.
func (a appender) Write(p []byte) (int, error) {
	f, err := os.OpenFile(string(a), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

// patient asks a program again when it fails, for as long as the round waits for
// the party: nothing was charged and nothing was sent, so trying again costs
// nothing, and a party that comes too late misses a round and no more.
type patient struct {
	outside pvi.Outside
	log     *slog.Logger
	pause   func(ctx context.Context, tries int)
}

// Updates implements pvi.Outside. Its only errors are the context's.
func (p *patient) Updates(ctx context.Context, w pvi.OutsideWork) ([][]float64, error) {
	for tries := 1; ; tries++ {
		updates, err := p.outside.Updates(ctx, w)
		if err == nil {
			return updates, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.log.Warn("program", "event", "program", "round", w.Round, "tries", tries, "error", err.Error())
		p.pause(ctx, tries)
	}
}

// pause waits a second after the first failure and twice as long after each further
// one, up to half a minute.
func pause(ctx context.Context, tries int) {
	wait := time.NewTimer(min(time.Second<<min(tries-1, 6), 30*time.Second))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
}
