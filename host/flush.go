package host

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"choir/protocol"
	"choir/transport"
)

// The records of a step have to be durable before a message that depends on them leaves, and
// no earlier. So they wait in memory until a message is to leave, or there are too many, or
// maxDelay is over. A process that is killed before loses only the time for those steps: no
// other member has seen their effects, and the position on the bus, which is stored with their
// records, makes it read their messages again.
const (
	// maxWaiting bounds the records that wait in memory, in bytes.
	maxWaiting = 32 << 20
	// maxDelay bounds how long they wait.
	maxDelay = 5 * time.Second
)

// Gather returns Config.Gather for a role. A compute node keeps what it receives until the round
// ends, so its disk writes begin at once. A party and the aggregator delete most of their
// records soon after, before they need be written.
func Gather(role protocol.Role) int {
	if role == protocol.RoleCompute {
		return 2 << 20
	}
	return maxWaiting
}

// Window is how much of a contribution a party should make in one step, in bytes
// (party.Config.Window): the next window is made while this one is sent.
const Window = 1 << 20

// batch is the effects of the steps since the last transaction began.
type batch struct {
	out    []transport.Message
	weight int       // bytes of out
	stored int       // bytes of records
	since  time.Time // when the oldest record came; zero: there is none
	soon   bool      // an update is being computed: the disk has time to write now
	seq    uint64    // position of the last message that was stepped through
}

// transaction is a batch that is being made durable while the next steps run. There is one at a
// time, which keeps the order.
type transaction struct {
	committed chan error
	out       []transport.Message // to be sent when the records are durable
	weight    int
}

// outbox is the messages that may leave. They are sent in order, in one call at a time, while
// the next transaction may be under way.
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

// due reports whether the batch must not wait any longer.
func (d *driver) due() bool {
	if len(d.out) > 0 || d.soon {
		return true
	}
	return !d.since.IsZero() && (d.done || d.stored > d.Gather || d.untilDue() == 0)
}

// untilDue returns how long the batch may wait: an hour when it is empty or has to wait for the
// transaction under way.
func (d *driver) untilDue() time.Duration {
	if d.since.IsZero() || d.transaction != nil {
		return time.Hour
	}
	return max(0, maxDelay-time.Since(d.since))
}

// full reports whether the loop must wait for a transaction or a send to finish.
func (d *driver) full() bool {
	if d.transaction != nil && d.stored > maxWaiting {
		return true
	}
	weight := d.weight + d.outbox.weight + d.outbox.moving
	if d.transaction != nil {
		weight += d.transaction.weight
	}
	return weight > 2*maxBatchBytes || d.weight > maxBatchBytes
}

// beginTransaction begins to make the batch durable.
func (d *driver) beginTransaction() {
	t := &transaction{committed: make(chan error, 1), out: d.out, weight: d.weight}
	records := d.records()
	d.transaction = t
	go func() { t.committed <- d.Journal.apply(records) }()
}

// records returns the batch's records, and the position on the bus with them: alone it does not
// justify a disk write.
func (d *driver) records() []protocol.Record {
	if d.seq > 0 && !d.since.IsZero() {
		position := binary.BigEndian.AppendUint64(nil, d.seq)
		d.Journal.add([]protocol.Record{{Key: cursorKey, Value: position}})
		d.seq = 0
	}
	d.batch = batch{seq: d.seq}
	return d.Journal.begin()
}

// committed returns the channel of the transaction's end; nil when there is none.
func (d *driver) committed() <-chan error {
	if d.transaction == nil {
		return nil
	}
	return d.transaction.committed
}

// endTransaction releases the messages of a transaction that is durable. After one that failed
// no other may be stored, and nothing may leave.
func (d *driver) endTransaction(ctx context.Context, err error) error {
	t := d.transaction
	d.transaction = nil
	d.broken = err != nil
	d.Journal.end()
	if err != nil || ctx.Err() != nil {
		return err
	}
	d.outbox.ready = append(d.outbox.ready, t.out...)
	d.outbox.weight += t.weight
	return nil
}

// beginSend begins to send the messages that are ready, in the order of the steps.
func (d *driver) beginSend(ctx context.Context) {
	out, sent := d.outbox.ready, make(chan error, 1)
	d.outbox = outbox{moving: d.outbox.weight, sent: sent}
	go func() {
		err := d.Bus.Publish(ctx, out...)
		if err != nil {
			err = busError(ctx, err)
		}
		sent <- err
	}()
}

func (d *driver) endSend(err error) error {
	d.outbox.sent = nil
	d.outbox.moving = 0
	return err
}

// stop ends a run for the reason given. It waits for the transaction and the send under way, and
// makes the rest of the batch durable, so that it need not be read again after a restart.
func (d *driver) stop(ctx context.Context, why error) error {
	if d.transaction != nil {
		_ = d.endTransaction(ctx, <-d.transaction.committed) // ctx has ended, and why is known
	}
	if d.outbox.sent != nil {
		_ = d.endSend(<-d.outbox.sent)
	}
	if why == nil || d.broken || d.since.IsZero() {
		return why
	}
	if err := d.Journal.apply(d.records()); err != nil {
		return errors.Join(why, err)
	}
	return why
}
