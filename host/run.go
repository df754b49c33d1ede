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
	Filters  []string          // what the role listens to
	Proposer protocol.Proposer // parties only
	// Prepare is shown the messages that are waiting together before the machine
	// takes in the first of them; protocol.Batch's, or nil.
	Prepare func(messages [][]byte)
	Notify  func(protocol.Notice)
	Now     func() time.Time // nil: time.Now
	// Gather is how many bytes of records wait for others before they are made durable,
	// unless something is to leave before; 0: 32 MiB. Roles that delete most of what they
	// store before anything leaves want much, those that keep it little: see Gather.
	Gather int
	// IdleTimeout ends Run with a timeout when nothing arrives for so long, whatever the
	// machine says meanwhile, unless it waits for its own update; 0: never.
	IdleTimeout time.Duration
}

// maxBatch bounds how many messages share one transaction.
const maxBatch = 256

// maxBatchBytes bounds how much a batch may weigh, and how much its sends may
// before they leave.
const maxBatchBytes = 16 << 20

// Run drives the machine until it is done, ctx ends, or something fails that
// no retry heals. It returns the machine's own end: nil for a session that
// completed.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &driver{Config: cfg, in: make(chan transport.Message, maxBatch), proposals: make(chan protocol.Proposal, 4), readEnd: make(chan error, 1)}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Notify == nil {
		d.Notify = func(protocol.Notice) {}
	}
	if d.Gather <= 0 {
		d.Gather = lazyBytes
	}
	d.heard, d.work.parent = time.Now(), ctx
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
	work      workers
	staging   sync.WaitGroup

	last   int64               // the machine's clock never goes back
	queued []transport.Message // of a batch whose sends grew too large
	wake   int64
	heard  time.Time // when something last came
	done   bool
	end    error
	batch
	flight *flight // what is being made durable; nil: nothing
	outbox outbox
	// computing: the party's update is under way.
	computing bool
	broken    bool // a flight's records didn't become durable
}

const cursorKey = "host/cursor"

// cursor is the first position that an earlier life hasn't taken in.
func (d *driver) cursor() uint64 {
	if b := d.Journal.store.Get(cursorKey); len(b) == 8 {
		return binary.BigEndian.Uint64(b) + 1
	}
	return 1
}

// read forwards messages. A broker that lost its history is read again from
// the start: the machine knows what it has.
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

func (d *driver) loop(ctx context.Context) error {
	d.step(protocol.Start{})
	for {
		if d.flight == nil && d.due() {
			d.launch()
		}
		if d.outbox.sent == nil && len(d.outbox.ready) > 0 {
			d.send(ctx)
		}
		if d.done && d.flight == nil && d.outbox.sent == nil {
			return d.end
		}
		if err := d.wait(ctx); err != nil {
			return err
		}
	}
}

// wait takes the next event and whatever else is there already.
func (d *driver) wait(ctx context.Context) error {
	if d.done || d.full() {
		select {
		case err := <-d.landing():
			return d.land(ctx, err)
		case err := <-d.outbox.sent:
			return d.left(err)
		}
	}
	if len(d.queued) > 0 {
		d.drain()
		return nil
	}
	tick := time.NewTimer(min(d.untilWake(), d.untilDue()))
	defer tick.Stop()
	idle := make(<-chan time.Time)
	if d.IdleTimeout > 0 && !d.computing && d.flight == nil {
		t := time.NewTimer(d.IdleTimeout - time.Since(d.heard))
		defer t.Stop()
		idle = t.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-d.readEnd:
		return busError(ctx, err)
	case <-idle:
		select {
		case m := <-d.in: // it came while this goroutine was busy
			d.arrived(m)
		default:
			return protocol.Fail(protocol.ClassTimeout, "nothing has arrived for %s", d.IdleTimeout)
		}
	case <-tick.C:
		if d.untilWake() == 0 {
			d.step(protocol.Tick{})
		}
	case err := <-d.landing():
		return d.land(ctx, err)
	case err := <-d.outbox.sent:
		return d.left(err)
	case p := <-d.proposals:
		d.computing, d.heard = false, time.Now()
		d.step(p)
	case m := <-d.in:
		d.arrived(m)
	}
	return nil
}

func (d *driver) arrived(first transport.Message) {
	d.heard = time.Now()
	d.gather(first)
	d.drain()
}

// gather takes what is waiting behind the first message and prepares it.
func (d *driver) gather(first transport.Message) {
	d.queued = append(d.queued[:0], first)
	for size := len(first.Data); len(d.queued) < maxBatch && size < maxBatchBytes; {
		select {
		case m := <-d.in:
			d.queued = append(d.queued, m)
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

// busError is why the bus failed: because the caller ended the run, for a cause
// that it can tell from a broken bus, or by itself.
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

// drain steps through the messages that were gathered, so that they share a
// transaction, up to where what they make the machine send must leave first.
func (d *driver) drain() {
	for len(d.queued) > 0 && !d.done && d.weight <= maxBatchBytes {
		d.deliver(d.queued[0])
		d.queued = d.queued[1:]
	}
}

func (d *driver) deliver(m transport.Message) {
	d.seq = m.Resume - 1 // the first pieces of a message that isn't whole yet are read again
	d.step(protocol.Delivery{Data: m.Data, More: len(d.queued) > 1})
}

func (d *driver) now() int64 {
	d.last = max(d.last, d.Now().UnixMilli())
	return d.last
}

// step runs the machine and gathers its effects; nothing leaves before flush.
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
		d.computing, d.soon = true, true
		d.work.start(*eff.Propose, d.Proposer, d.proposals)
	}
	for _, n := range eff.Notices {
		d.Notify(n)
	}
	if eff.Done {
		d.done, d.end = true, eff.Err
	}
}
