package simulate

import (
	"errors"
	"fmt"
	"slices"

	"choir/protocol"
)

// Harness is one member of a recorded session whose machine is driven by a
// program instead of a schedule: messages in any order, altered messages, messages
// signed by dishonest members, unrequested updates, crashes anywhere. It is for
// fuzzing a machine's Step. Every other member counts as dishonest; the oracle
// checks this one.
type Harness struct {
	setup    Setup
	member   int
	Messages [][]byte // the messages of others to it in the recorded session, in order
}

// NewHarness records the session of a setup, without faults, for the first member
// of a role.
func NewHarness(setup Setup, role protocol.Role) (*Harness, error) {
	w, err := newWorld(setup, Profile{}, newChaos(setup.Seed, nil, true), seams{})
	if err != nil {
		return nil, err
	}
	w.run()
	if len(w.oracle.violations) > 0 {
		return nil, fmt.Errorf("harness: %s", w.oracle.violations[0])
	}
	i := slices.IndexFunc(w.members, func(m *member) bool { return m.role == role })
	h := &Harness{setup: setup, member: i}
	for _, msg := range w.members[i].history {
		if msg.from != i {
			h.Messages = append(h.Messages, msg.data)
		}
	}
	return h, nil
}

// The operations of a program: an operation's byte, then its operands.
const (
	opDeliver   = iota // k, k: message k unchanged
	opFlip             // k, k, p, p, x: message k with byte p changed by x
	opCut              // k, k, n: message k without its last n bytes
	opInsider          // k, k, how: another content of message k, under its sender's own signature
	opRaw              // n, then n bytes: anything
	opTick             // d: time advances by 16 d ms
	opFlush            // the batch becomes durable and is sent
	opLose             // the process crashes before that, and restarts
	opDie              // the process crashes after that, and restarts
	opUpdate           // the update that the machine asked for
	opOddUpdate        // how: an update that is wrong, late or unrequested
	opCount
)

// Honest is the program that delivers the recorded session.
func (h *Harness) Honest() (program []byte) {
	for k := range h.Messages {
		program = append(program, opDeliver, byte(k>>8), byte(k), opFlush, opUpdate, opFlush)
	}
	return program
}

// Progress is how far a program has brought the machine.
type Progress struct {
	Steps   int
	Done    bool
	Settled int    // rounds, of a party
	Reveals int    // of a node
	Trace   uint64 // equal for equal programs
}

// errBroken wraps a violation.
var errBroken = errors.New("the machine broke a promise")

// Drive runs a program, of any bytes, and returns the first violation as an error.
// It doesn't recover from a panic of the machine.
func (h *Harness) Drive(program []byte) (p Progress, err error) {
	w, err := newWorld(h.setup, Profile{}, newChaos(h.setup.Seed, nil, true),
		seams{honest: func(i int) bool { return i == h.member }})
	if err != nil {
		return p, err
	}
	d := &drive{harness: h, w: w, m: w.members[h.member], rest: program}
	d.start()
	for len(d.rest) > 0 && len(w.oracle.violations) == 0 {
		d.operate(d.byte() % opCount)
	}
	d.flush()
	p = Progress{Steps: w.steps, Done: d.m.done, Trace: w.trace, Reveals: len(w.oracle.reveals)}
	if d.m.party != nil {
		p.Settled = int(d.m.party.Settled())
	}
	if len(w.oracle.violations) > 0 {
		return p, fmt.Errorf("%w: %s", errBroken, w.oracle.violations[0])
	}
	return p, nil
}

// drive is a running program.
type drive struct {
	harness *Harness
	w       *world
	m       *member
	rest    []byte
	work    *protocol.Work
	held    *protocol.Proposal // given to the machine, which has sent nothing yet
}

// byte is the program's next byte, 0 after its end.
func (d *drive) byte() byte {
	if len(d.rest) == 0 {
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *drive) start() {
	d.w.queue = queue{} // no other member runs
	d.m.boot()
	d.m.fresh, d.work = false, nil
	d.step(protocol.Start{})
}

func (d *drive) step(ev protocol.Event) {
	if !d.m.up || d.m.done {
		return
	}
	if e, ok := ev.(protocol.Delivery); ok {
		d.w.oracle.overheard(e.Data)
	}
	before := len(d.m.out)
	d.m.step(ev, nil)
	if d.held != nil && len(d.m.out) > before {
		d.w.oracle.proposed(d.m, *d.held)
		d.held = nil
	}
	if d.m.work != nil {
		d.work, d.m.work = d.m.work, nil
	}
}

func (d *drive) flush() {
	if d.m.up {
		d.m.flush()
		d.w.queue = queue{}
	}
}

func (d *drive) operate(op byte) {
	switch op {
	case opDeliver:
		d.step(protocol.Delivery{Data: d.message()})
	case opFlip:
		data := d.message()
		if at := int(d.byte())<<8 | int(d.byte()); len(data) > 0 {
			data[at%len(data)] ^= d.byte()
		}
		d.step(protocol.Delivery{Data: data})
	case opCut:
		data := d.message()
		d.step(protocol.Delivery{Data: data[:len(data)-min(int(d.byte()), len(data))]})
	case opInsider:
		d.step(protocol.Delivery{Data: d.insider()})
	case opRaw:
		n := min(int(d.byte()), len(d.rest))
		d.step(protocol.Delivery{Data: append([]byte(nil), d.rest[:n]...)})
		d.rest = d.rest[n:]
	case opTick:
		d.w.now += 16 * int64(d.byte())
		d.step(protocol.Tick{})
	case opFlush:
		d.flush()
	case opLose, opDie:
		if op == opDie {
			d.flush()
		}
		d.m.stop()
		d.start()
	case opUpdate:
		if d.work != nil {
			d.propose(d.honestUpdate())
		}
	case opOddUpdate:
		d.propose(d.oddUpdate(d.byte()))
	}
}

// message is a copy of one of the recorded messages.
func (d *drive) message() []byte {
	k := int(d.byte())<<8 | int(d.byte())
	if len(d.harness.Messages) == 0 {
		return nil
	}
	return append([]byte(nil), d.harness.Messages[k%len(d.harness.Messages)]...)
}

// insider is another content for a message, signed by the member that sent it.
func (d *drive) insider() []byte {
	data, how := d.message(), int64(d.byte()%8)
	e, err := protocol.UnmarshalEnvelope(data)
	if err != nil || int(e.From) == d.m.i {
		return d.w.forge(d.w.outsider, data, how)
	}
	m, err := protocol.Decode(e)
	if err != nil {
		return data
	}
	b, err := d.w.session.Sign(d.w.members[e.From].key, e.From, altered(m, how))
	if err != nil {
		return data
	}
	return b
}

func (d *drive) propose(p protocol.Proposal) {
	_, known := d.w.oracle.updates[key{uint32(d.m.i), attempt{p.Round, p.Attempt}}]
	if !known && d.work != nil && d.work.Round == p.Round && d.work.Attempt == p.Attempt {
		d.held = &p // it is accepted now or, if the last result is not confirmed, later
	}
	d.step(p)
}

func (d *drive) honestUpdate() protocol.Proposal {
	u := d.w.app.update(uint32(d.m.i), *d.work)
	return protocol.Proposal{Round: d.work.Round, Attempt: d.work.Attempt, Update: u,
		Memo: protocol.AppendInts(nil, u)}
}

// oddUpdate is an update that no application should return.
func (d *drive) oddUpdate(how byte) protocol.Proposal {
	w := protocol.Work{Round: 1 + uint32(how>>6), Attempt: 1 + uint32(how>>4&3), Model: d.w.app.Initial()}
	if d.work != nil && how&8 == 0 {
		w = *d.work
	}
	u := d.w.app.update(uint32(d.m.i), w)
	p := protocol.Proposal{Round: w.Round, Attempt: w.Attempt, Update: u, Memo: protocol.AppendInts(nil, u)}
	switch how & 7 {
	case 1:
		p.Update = u[1:]
	case 2:
		p.Update[0] = int64(d.w.setup.scale().perParty) + 1
	case 3:
		p.Err = errors.New("the computation failed")
	case 4:
		p.Round++
	case 5:
		p.Attempt++
	}
	return p
}
