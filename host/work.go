package host

import (
	"context"
	"sync"

	"choir/protocol"
)

// workers compute updates beside the loop. A newer request ends an older one:
// the machine has no use for it any more.
type workers struct {
	waiting *protocol.Work
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

func (w *workers) queue(work protocol.Work) { w.waiting = &work }

// take is the request that is waiting, or nil.
func (w *workers) take() *protocol.Work {
	work := w.waiting
	w.waiting = nil
	return work
}

// start runs a request; call it once what led to it is durable.
func (w *workers) start(ctx context.Context, work protocol.Work, p protocol.Proposer, out chan<- protocol.Proposal) {
	if w.cancel != nil {
		w.cancel()
	}
	ctx, w.cancel = context.WithCancel(ctx)
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
