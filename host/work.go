package host

import (
	"context"
	"sync"

	"choir/protocol"
)

// workers compute updates in goroutines. A new request cancels the one before it, which the
// machine does not need any more.
type workers struct {
	parent context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// start runs a request. It need not wait for the records of the step that made it: only a
// Proposal follows from it, and a restarted process computes it again.
func (w *workers) start(work protocol.Work, p protocol.Proposer, out chan<- protocol.Proposal) {
	if w.cancel != nil {
		w.cancel()
	}
	ctx, cancel := context.WithCancel(w.parent)
	w.cancel = cancel
	w.group.Go(func() {
		answer := protocol.Proposal{Round: work.Round, Attempt: work.Attempt}
		answer.Update, answer.Memo, answer.Err = p.Propose(ctx, work)
		if ctx.Err() != nil {
			return // with room in out, select could take either
		}
		select {
		case out <- answer:
		case <-ctx.Done():
		}
	})
}

// wait cancels the request and waits for all of them to end.
func (w *workers) wait() {
	if w.cancel != nil {
		w.cancel()
	}
	w.group.Wait()
}
