package host

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"choir/protocol"
	"choir/transport"
)

// What a step asks to be stored has to be durable before anything leaves that
// follows from it, and no earlier. So records wait in memory until something is
// to leave, or there are too many, or for lateness at most: then they go in one
// transaction. A process that dies before loses nothing but its own time: nobody
// has heard of the steps, and the position on the bus that goes with their
// records makes it read their messages again.
const (
	// lazyBytes is how much waits in memory at most, in bytes.
	lazyBytes = 32 << 20
	// lateness is how long it waits at most.
	lateness = 5 * time.Second
)

// Gather is Config.Gather for a role. What a compute node takes in stays until the
// round ends, so its disk had better begin at once; a party and the aggregator forget
// most of what they store as soon as the rest of it is here.
func Gather(role protocol.Role) int {
	if role == protocol.RoleCompute {
		return 2 << 20
	}
	return lazyBytes
}

// Window is how much of a contribution a party should make in one step, in bytes
// (party.Config.Window): the next window is made while this one is on its way.
const Window = 1 << 20

// batch is what steps asked for since the last flight began.
type batch struct {
	out    []transport.Message
	weight int       // bytes of out
	stored int       // bytes of records
	since  time.Time // when the oldest record came; zero: there is none
	soon   bool      // an update is being computed: the disk had better work beside it
	seq    uint64    // the last position whose message was stepped through
}

// flight is a batch that is being made durable beside the steps that follow. There
// is one at a time, so that nothing overtakes.
type flight struct {
	landed chan error
	out    []transport.Message // to leave once what led to them is durable
	weight int
}

// outbox is what is durable and leaves, in order, one call at a time. While it does
// the next flight may be on its way.
type outbox struct {
	ready  []transport.Message
	weight int        // bytes of ready
	moving int        // bytes that are being sent
	sent   chan error // nil: nothing is being sent
}

// collect adds a step's effects to the batch.
func (d *driver) collect(eff protocol.Effects) {
	if len(eff.Persist) > 0 {
		d.stored += d.Journal.add(eff.Persist)
		if d.since.IsZero() {
			d.since = time.Now()
		}
	}
	for _, o := range eff.Send {
		d.out = append(d.out, transport.Message{Subject: o.Subject, Data: o.Data})
		d.weight += len(o.Data)
	}
}

// due says whether the batch must not wait any longer.
func (d *driver) due() bool {
	if len(d.out) > 0 || d.soon {
		return true
	}
	return !d.since.IsZero() && (d.done || d.stored > d.Gather || d.untilDue() == 0)
}

// untilDue is how long the batch may wait; long when it is empty or has to wait
// for the flight before it anyway.
func (d *driver) untilDue() time.Duration {
	if d.since.IsZero() || d.flight != nil {
		return time.Hour
	}
	return max(0, lateness-time.Since(d.since))
}

// full says whether nothing more may be stepped through before something has left.
func (d *driver) full() bool {
	if d.flight != nil && d.stored > lazyBytes {
		return true
	}
	weight := d.weight + d.outbox.weight + d.outbox.moving
	if d.flight != nil {
		weight += d.flight.weight
	}
	return weight > 2*maxBatchBytes || d.weight > maxBatchBytes
}

// launch begins to make the batch durable.
func (d *driver) launch() {
	f := &flight{landed: make(chan error, 1), out: d.out, weight: d.weight}
	records := d.records()
	d.flight = f
	go func() { f.landed <- d.Journal.apply(records) }()
}

// records takes the batch's, with the position that goes with them: alone it is
// worth no disk write.
func (d *driver) records() []protocol.Record {
	if d.seq > 0 && !d.since.IsZero() {
		d.Journal.add([]protocol.Record{{Key: cursorKey, Value: binary.BigEndian.AppendUint64(nil, d.seq)}})
		d.seq = 0
	}
	d.batch = batch{seq: d.seq}
	return d.Journal.begin()
}

// landing is where the flight's end is told; nil while there is none.
func (d *driver) landing() <-chan error {
	if d.flight == nil {
		return nil
	}
	return d.flight.landed
}

// land takes note of the flight's end. Behind records that didn't become durable no
// others may be stored, and nothing may leave.
func (d *driver) land(ctx context.Context, err error) error {
	f := d.flight
	d.flight, d.broken = nil, err != nil
	d.Journal.end()
	if err != nil || ctx.Err() != nil {
		return err
	}
	d.outbox.ready = append(d.outbox.ready, f.out...)
	d.outbox.weight += f.weight
	return nil
}

// send begins to send what is ready, in the order that the steps gave.
func (d *driver) send(ctx context.Context) {
	o := &d.outbox
	out, sent := o.ready, make(chan error, 1)
	o.ready, o.moving, o.weight, o.sent = nil, o.weight, 0, sent
	go func() {
		err := d.Bus.Publish(ctx, out...)
		if err != nil {
			err = busError(ctx, err)
		}
		sent <- err
	}()
}

// left takes note that what was being sent has left.
func (d *driver) left(err error) error {
	d.outbox.sent, d.outbox.moving = nil, 0
	return err
}

// stop ends a run for the reason given: it waits for what is under way, and makes
// durable what was gathered behind it, so that the next life needn't read it again.
func (d *driver) stop(ctx context.Context, why error) error {
	if d.flight != nil {
		_ = d.land(ctx, <-d.flight.landed) // ctx has ended, and why is known
	}
	if d.outbox.sent != nil {
		_ = d.left(<-d.outbox.sent)
	}
	if why == nil || d.broken || d.since.IsZero() {
		return why
	}
	if err := d.Journal.apply(d.records()); err != nil {
		return errors.Join(why, err)
	}
	return why
}
