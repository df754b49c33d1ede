package host

import (
	"context"
	"sync"

	"choir/protocol"
)

// workers compute updates beside the loop. A newer request ends an older one:
// the machine has no use for it any more.
type workers struct {
	parent context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// start runs a request. It needn't wait for the records of the step that asked:
// nothing leaves of it but a Proposal, and a process that dies computes it again.
func (w *workers) start(work protocol.Work, p protocol.Proposer, out chan<- protocol.Proposal) {
	if w.cancel != nil {
		w.cancel()
	}
	ctx, cancel := context.WithCancel(w.parent)
	w.cancel = cancel
	w.group.Go(func() {
		answer := protocol.Proposal{Round: work.Round, Attempt: work.Attempt}
		answer.Update, answer.Memo, answer.Err = p.Propose(ctx, work)
		select {
		case out <- answer:
		case <-ctx.Done():
		}
	})
}

func (w *workers) wait() {
	if w.cancel != nil {
		w.cancel()
	}
	w.group.Wait()
}
