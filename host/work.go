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

// start runs the request that is waiting, if there is one; call it once what
// led to it is durable.
func (w *workers) start(ctx context.Context, p protocol.Proposer, out chan<- protocol.Proposal) {
	if w.waiting == nil {
		return
	}
	if w.cancel != nil {
		w.cancel()
	}
	work := *w.waiting
	w.waiting = nil
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
