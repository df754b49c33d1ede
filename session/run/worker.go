package run

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"choir/compute"
	"choir/host"
	"choir/protocol"
	"choir/transport"
)

// Worker is one worker of a compute node, ready to run in this process. See
// compute.Worker.
type Worker struct {
	Session     protocol.BoundPlan
	Node        uint32 // member index of the compute node
	Worker      int
	Group       compute.Group
	Store       host.Store // not shared with the node
	Bus         transport.Bus
	Rand        io.Reader // crypto/rand.Reader in production
	Notify      func(protocol.Notice)
	Resend      time.Duration // interval of its requests for channels; 0: 15 s
	IdleTimeout time.Duration // end with a timeout after this time without messages; 0: never
}

// Run runs the worker to the end of the session. Called again after a crash, with the
// same store, it resumes; with an empty one it reads its parties' messages from the
// bus again.
func (w *Worker) Run(ctx context.Context) error {
	journal := host.NewJournal(w.Store)
	batch := protocol.NewBatch(w.Session, rand.Reader)
	s := w.Session
	s.Verifier = batch
	machine, err := compute.NewWorker(compute.WorkerConfig{Session: s, Node: w.Node, Worker: w.Worker,
		Group: w.Group,
		Rand:  w.Rand, View: journal, ResendMS: w.Resend.Milliseconds()})
	if err != nil {
		return err
	}
	path := protocol.WorkerPath{Node: w.Node, Worker: uint32(w.Worker), Of: uint32(w.Group.Workers)}
	return host.Run(ctx, host.Config{Machine: machine, Journal: journal, Bus: w.Bus,
		Filters: s.WorkerFilters(path),
		Prepare: batch.Prepare, Notify: w.Notify, IdleTimeout: w.IdleTimeout})
}
