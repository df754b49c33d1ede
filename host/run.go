package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"choir/protocol"
	"choir/transport"
)

// Config is what Run needs to drive one role.
type Config struct {
	Machine  protocol.Machine
	Journal  *Journal          // the one that the machine reads as its view
	Bus      transport.Bus     // closed by the caller
	Filters  []string          // the subjects that the role subscribes to
	Proposer protocol.Proposer // parties only
	// Prepare is given the messages that have arrived together before the machine gets the
	// first of them; protocol.Batch's, or nil.
	Prepare func(messages [][]byte)
	Notify  func(protocol.Notice)
	Now     func() time.Time // nil: time.Now
	// Gather is how many bytes of records wait to share a transaction, unless a message is to
	// leave before; 0: 32 MiB. See the function Gather.
	Gather int
	// IdleTimeout ends Run with a timeout when nothing arrives for that long, unless the
	// machine waits for its own update; 0: never.
	IdleTimeout time.Duration
}

// maxBatch bounds the number of messages in a transaction.
const maxBatch = 256

// maxBatchBytes bounds the size of a batch, and of its sends before they leave.
const maxBatchBytes = 16 << 20

// Run drives the machine until it is done, ctx ends, or an error occurs that no retry mends.
// It returns the machine's own error, nil for a session that completed.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	d := newDriver(ctx, cfg)
	from := d.cursor()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		d.readEnd <- d.read(ctx, from)
	}()
	err := d.loop(ctx)
	cancel()
	err = d.stop(ctx, err)
	<-reading
	d.work.wait()
	d.staging.Wait()
	return err
}

type driver struct {
	Config
	in        chan transport.Message
	proposals chan protocol.Proposal
	readEnd   chan error
	reached   chan struct{}   // closed when everything stored before the start has been read
	once      sync.Once       // closes reached
	current   <-chan struct{} // reached, until the loop has noticed
	taken     int             // messages taken from in
	history   int             // how many of them were stored before the start; -1: not known yet
	work      workers
	staging   sync.WaitGroup

	last     int64               // the machine's clock never goes back
	queued   []transport.Message // arrived, and not stepped through yet
	wake     int64
	lastSeen time.Time // when the last message or proposal arrived
	done     bool
	end      error
	batch
	transaction *transaction // nil when none is under way
	outbox      outbox
	computing   *protocol.Work // the update that the party computes; nil: none
	broken      bool           // a transaction failed
}

func newDriver(ctx context.Context, cfg Config) *driver {
	d := &driver{
		Config:    cfg,
		in:        make(chan transport.Message, maxBatch),
		proposals: make(chan protocol.Proposal, 4),
		readEnd:   make(chan error, 1),
		reached:   make(chan struct{}),
		history:   -1,
		lastSeen:  time.Now(),
	}
	d.current = d.reached
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Notify == nil {
		d.Notify = func(protocol.Notice) {}
	}
	if d.Gather <= 0 {
		d.Gather = maxWaiting
	}
	d.work.parent = ctx
	return d
}

const cursorKey = "host/cursor"

// cursor returns the first position on the bus that was not processed before a restart.
func (d *driver) cursor() uint64 {
	if b := d.Journal.store.Get(cursorKey); len(b) == 8 {
		return binary.BigEndian.Uint64(b) + 1
	}
	return 1
}

// Rewind is the record that makes the next Run read the bus from its start, for a broker that has
// lost its history.
func Rewind() protocol.Record { return protocol.Record{Key: cursorKey} }

// read forwards messages. If the broker has lost its history, it reads from the start: the
// machine recognizes duplicates.
func (d *driver) read(ctx context.Context, from uint64) error {
	for {
		err := d.readFrom(ctx, from)
		if !errors.Is(err, transport.ErrLost) {
			return err
		}
		from = 1
	}
}

func (d *driver) readFrom(ctx context.Context, from uint64) error {
	sub, err := d.Bus.Subscribe(ctx, d.Filters, from)
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go d.watch(ctx, sub)
	for {
		m, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case d.in <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch closes reached when the subscription has caught up.
func (d *driver) watch(ctx context.Context, sub transport.Subscription) {
	select {
	case <-sub.CaughtUp():
		d.once.Do(func() { close(d.reached) })
	case <-ctx.Done():
	}
}

func (d *driver) loop(ctx context.Context) error {
	d.step(protocol.Start{Behind: true})
	for {
		if d.caughtUp() {
			d.step(protocol.CaughtUp{})
		}
		if d.transaction == nil && d.due() {
			d.beginTransaction()
		}
		if d.outbox.sent == nil && len(d.outbox.ready) > 0 {
			d.beginSend(ctx)
		}
		if d.done && d.transaction == nil && d.outbox.sent == nil {
			return d.end
		}
		if err := d.wait(ctx); err != nil {
			return err
		}
	}
}

// wait handles the next event and the messages that have arrived with it.
func (d *driver) wait(ctx context.Context) error {
	switch {
	case d.done || d.full():
		select {
		case err := <-d.committed():
			return d.endTransaction(ctx, err)
		case err := <-d.outbox.sent:
			return d.endSend(err)
		}
	case len(d.queued) > 0:
		d.stepQueued()
		return nil
	}
	return d.waitForEvent(ctx)
}

func (d *driver) waitForEvent(ctx context.Context) error {
	tick := time.NewTimer(min(d.untilWake(), d.untilDue()))
	defer tick.Stop()
	var idle <-chan time.Time
	if d.IdleTimeout > 0 && d.computing == nil && d.transaction == nil {
		t := time.NewTimer(d.IdleTimeout - time.Since(d.lastSeen))
		defer t.Stop()
		idle = t.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-d.readEnd:
		return busError(ctx, err)
	case <-idle:
		return d.timeout()
	case <-tick.C:
		if d.untilWake() == 0 {
			d.step(protocol.Tick{})
		}
	case err := <-d.committed():
		return d.endTransaction(ctx, err)
	case err := <-d.outbox.sent:
		return d.endSend(err)
	case p := <-d.proposals:
		if w := d.computing; w != nil && w.Round == p.Round && w.Attempt == p.Attempt {
			d.computing = nil // another answer was asked for before
		}
		d.lastSeen = time.Now()
		d.step(p)
	case <-d.current:
		d.current = nil
		d.history = d.taken + len(d.in)
	case m := <-d.in:
		d.arrived(m)
	}
	return nil
}

// caughtUp reports, once, that the machine has everything that was stored before the start.
func (d *driver) caughtUp() bool {
	if d.history < 0 || d.taken < d.history || len(d.queued) > 0 {
		return false
	}
	d.history = -1
	return true
}

// timeout ends the run, unless a message has arrived while this goroutine was busy.
func (d *driver) timeout() error {
	select {
	case m := <-d.in:
		d.arrived(m)
		return nil
	default:
		return protocol.Fail(protocol.ClassTimeout, "nothing has arrived for %s", d.IdleTimeout)
	}
}

func (d *driver) arrived(first transport.Message) {
	d.lastSeen = time.Now()
	d.gather(first)
	d.stepQueued()
}

// gather queues the first message and those that have arrived after it, and prepares them.
func (d *driver) gather(first transport.Message) {
	d.queued = append(d.queued[:0], first)
	d.taken++
	for size := len(first.Data); len(d.queued) < maxBatch && size < maxBatchBytes; {
		select {
		case m := <-d.in:
			d.queued = append(d.queued, m)
			d.taken++
			size += len(m.Data)
			continue
		default:
		}
		break
	}
	if d.Prepare == nil {
		return
	}
	data := make([][]byte, len(d.queued))
	for i, m := range d.queued {
		data[i] = m.Data
	}
	d.Prepare(data)
}

// busError returns the cause of ctx's end if it has ended, so that the caller can tell it from
// a failure of the bus.
func busError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("bus: %w", err)
}

func (d *driver) untilWake() time.Duration {
	if d.wake == 0 {
		return time.Hour
	}
	return max(0, time.Duration(d.wake-d.now())*time.Millisecond)
}

// stepQueued steps through the queued messages, so that they share a transaction, until the
// messages that the machine sends must leave first.
func (d *driver) stepQueued() {
	for len(d.queued) > 0 && !d.done && d.weight <= maxBatchBytes {
		d.deliver(d.queued[0])
		d.queued = d.queued[1:]
	}
}

// deliver gives the machine a message. One on which the machine fails is delivered again after a restart,
// so that a member whose store was rolled back fails every time it is started.
func (d *driver) deliver(m transport.Message) {
	before := d.seq
	d.seq = m.Resume - 1 // the fragments of an incomplete message are read again
	d.step(protocol.Delivery{Data: m.Data, More: len(d.queued) > 1})
	if d.done && d.end != nil {
		d.seq = before
	}
}

func (d *driver) now() int64 {
	d.last = max(d.last, d.Now().UnixMilli())
	return d.last
}

// step runs the machine and collects its effects.
func (d *driver) step(ev protocol.Event) {
	if d.done {
		return
	}
	eff := d.Machine.Step(d.now(), ev)
	d.collect(eff)
	d.wake = eff.Wake
	for _, value := range eff.Ahead {
		if write := d.Journal.stage(value); write != nil {
			d.staging.Go(write)
		}
	}
	if eff.Propose != nil {
		d.computing = eff.Propose
		d.soon = true
		d.work.start(*eff.Propose, d.Proposer, d.proposals)
	}
	for _, n := range eff.Notices {
		d.Notify(n)
	}
	if eff.Done {
		d.done = true
		d.end = eff.Err
	}
}
