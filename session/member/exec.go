package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/external"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// outside returns what runs the party's program on the records that it learns from, nil if it has none.
func (m *Member) outside(a app.Spec, data bayes.Data,
	schema *dataset.Schema) (func(bayes.Data, int) (pvi.Outside, error), error) {
	if m.Config.Exec == "" {
		return nil, nil
	}
	l, ok := a.(*app.PVI)
	if !ok {
		return nil, noExec(a.Name())
	}
	if err := l.PVI.TakesOutside(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	command, err := external.Split(m.Config.Exec)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	c := external.Config{Command: command, Timeout: m.Config.Timing.Exec.Duration, Stderr: m.private(execSuffix)}
	program := func(data bayes.Data) (pvi.Outside, error) {
		return external.New(c, l.PVI, external.Records{Data: data, Columns: schema.EncodedColumns(),
			Classes: schema.Target.Categories})
	}
	if _, err := program(data); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: exec: %w", err)
	}
	limit := m.Config.Timing.Exec.Duration
	if limit == 0 {
		limit = external.DefaultTimeout
	}
	deadline := time.Duration(m.Session.Plan.DeadlineMS) * time.Millisecond
	run := shards{limit: min(limit, deadline*3/4), log: m.Log, pause: pause,
		output: m.Config.StoreFile + execSuffix}
	return func(data bayes.Data, n int) (pvi.Outside, error) { return run.of(data, n, program) }, nil
}

// noExec is the error about a program that the application has no use for.
func noExec(application string) error {
	return protocol.Fail(protocol.ClassInput,
		"config: exec: a plan of application %q leaves nothing for a program to compute", application)
}

// mostShards bounds how often a program is started in a round.
const mostShards = 256

// shards runs a party's program once for every shard, on that shard's records alone, so that one
// record moves one shard's update. It is a total function: a program that fails is started
// again until the shard's part of the time is over, and then the shard's update is zero. A
// party that stayed away in the place of that would tell all members, without noise,
// something that may depend on one record.
type shards struct {
	limit  time.Duration // of all shards of a round
	log    *slog.Logger
	pause  func(ctx context.Context, tries int)
	output string // file with what the program printed on stderr
	each   []pvi.Outside
}

// of returns what runs program for each of n shards of the data.
func (p shards) of(data bayes.Data, n int, program func(bayes.Data) (pvi.Outside, error)) (*shards, error) {
	if n > mostShards {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: exec: the plan has %d shards at this party and the program runs once for each in every round, "+
				"at most %d: leave exec out, or agree on a plan with fewer shards", n, mostShards)
	}
	p.each = nil
	for _, rows := range data.Split(n) {
		one, err := program(rows)
		if err != nil {
			return nil, err
		}
		p.each = append(p.each, one)
	}
	return &p, nil
}

// Updates implements pvi.Outside. Its only errors are the context's.
func (p *shards) Updates(ctx context.Context, w pvi.OutsideWork) ([][]float64, error) {
	updates := make([][]float64, len(p.each))
	for k, one := range p.each {
		ask := pvi.OutsideWork{Round: w.Round, Global: w.Global, Cavity: w.Cavity[k : k+1]}
		var err error
		if updates[k], err = p.update(ctx, one, ask, p.limit/time.Duration(len(p.each))); err != nil {
			return nil, err
		}
	}
	return updates, nil
}

// update is one shard's. Its only errors are the context's.
func (p *shards) update(ctx context.Context, one pvi.Outside, w pvi.OutsideWork,
	limit time.Duration) ([]float64, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for tries := 1; ; tries++ {
		updates, err := one.Updates(limited, w)
		switch {
		case err == nil && len(updates) == 1:
			return updates[0], nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			err = fmt.Errorf("%w: %d shards", external.ErrAnswer, len(updates))
		}
		over := limited.Err() != nil
		if over && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no usable answer within %s, so the update is zero: see exec in [timing], and the "+
				"plan's deadline", limit)
		}
		p.log.Warn("program", "event", "program", "round", w.Round, "tries", tries, "error", err.Error(),
			"zero", over, "output", p.output)
		if over {
			return make([]float64, len(w.Global)), nil
		}
		p.pause(limited, tries)
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
