package bed

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"choir/lab/study"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// session runs every role in this process.
func (s *signed) session(ctx context.Context) ([]int64, error) {
	connect, shutdown, err := s.network(ctx)
	if err != nil {
		return nil, err
	}
	defer shutdown()
	learners := make([]app.Party, s.plan.Parties())
	for i := range learners {
		if i >= len(s.Parts) {
			learners[i] = without{s.model, s.plan.Dim}
		} else if learners[i], err = s.seat(i); err != nil {
			return nil, err
		}
	}
	l := &run.Local{Session: s.s, Keys: s.keys, Model: watched{s.model, s}, Resend: 5 * time.Minute,
		GiveUp: time.Hour, Connect: connect,
		Rand:     func(i uint32) io.Reader { return s.stream(fmt.Sprintf("member %d", i)) },
		App:      func(i uint32) protocol.Application { return learners[i] },
		Proposer: func(i uint32) protocol.Proposer { return learners[i] }}
	rep, err := l.Run(ctx)
	if err != nil {
		return nil, err
	}
	return rep.Model, nil
}

func (s *signed) network(ctx context.Context) (connect run.Connect, shutdown func(), err error) {
	if s.Transport != study.NATS {
		return run.InMemory(s.s), func() {}, nil
	}
	dir, err := os.MkdirTemp(s.Dir, "nats-")
	if err != nil {
		return nil, nil, err
	}
	server, err := embedded.Start(embedded.Config{StoreDir: dir})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded server: %w", err)
	}
	shutdown = func() {
		server.Shutdown()
		_ = os.RemoveAll(dir)
	}
	return run.OverNATS(ctx, s.s, natsbus.Config{Server: server, Storage: natsbus.File}), shutdown, nil
}

// watched shows every state of the model.
type watched struct {
	protocol.Model
	s *signed
}

// Fold implements protocol.Model.
func (w watched) Fold(round uint32, model, sum []int64) ([]int64, error) {
	next, err := w.Model.Fold(round, model, sum)
	if err != nil {
		return nil, err
	}
	w.s.reveal(round, model, sum)
	return next, w.s.see(int(round), next)
}
