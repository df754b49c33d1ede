package member

import (
	"context"
	"log/slog"
	"time"

	"choir/learn/dataset"
	"choir/learn/external"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// outside returns the party's program, nil if it has none.
func (m *Member) outside(a app.Spec, data pvi.Data, schema *dataset.Schema) (pvi.Outside, error) {
	if m.Config.Exec == "" {
		return nil, nil
	}
	l, ok := a.(*app.PVI)
	if !ok {
		return nil, noExec(a.Name())
	}
	command, err := external.Split(m.Config.Exec)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	c := external.Config{Command: command, Timeout: m.Config.Timing.Exec.Duration, Stderr: m.private(execSuffix)}
	records := external.Records{Data: data, Columns: schema.EncodedColumns(), Classes: schema.Target.Categories}
	p, err := external.New(c, l.PVI, records)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	return &retrying{outside: p, log: m.Log, pause: pause}, nil
}

// noExec is the error about a program that the application has no use for.
func noExec(application string) error {
	return protocol.Fail(protocol.ClassInput,
		"config: exec: a plan of application %q leaves nothing for a program to compute", application)
}

// retrying runs a program again when it fails, for as long as the round waits for
// the party. Nothing was charged or sent, so a retry costs nothing; a party that is
// too late misses a round and no more.
type retrying struct {
	outside pvi.Outside
	log     *slog.Logger
	pause   func(ctx context.Context, tries int)
}

// Updates implements pvi.Outside. Its only errors are the context's.
func (p *retrying) Updates(ctx context.Context, w pvi.OutsideWork) ([][]float64, error) {
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

// pause waits for a second after the first failure, doubled with each further one,
// at most half a minute.
func pause(ctx context.Context, tries int) {
	wait := time.NewTimer(min(time.Second<<min(tries-1, 6), 30*time.Second))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
}
