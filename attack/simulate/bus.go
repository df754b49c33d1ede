package simulate

import (
	"bytes"
	"fmt"
	"strings"

	"choir/protocol"
)

// message is a stored message. Its subject lacks the plan's prefix.
type message struct {
	subject string
	count   int    // the count-th attempt to publish on the subject
	mark    string // "'" for a second copy, "!" for a forged one
	id      uint64
	from    int
	data    []byte
}

func (m *message) key() string { return fmt.Sprintf("%s#%d%s", m.subject, m.count, m.mark) }

// publish is a member's attempt to store a message.
func (w *world) publish(from *member, o protocol.Outgoing) {
	subject := strings.TrimPrefix(o.Subject, w.prefix)
	w.published[subject]++
	m := &message{subject: subject, count: w.published[subject], from: from.i, data: bytes.Clone(o.Data)}
	m.id = mixIn(uint64(m.count), subject)
	p := &w.profile
	if !from.done { // a member that has ended can't retransmit: its last messages are stored
		if _, lost := w.ask("lose", p.Lose, m.id, m.key, nil); lost {
			w.logf(from, "%s is lost", m.key())
			return
		}
	}
	if args, ok := w.ask("forge", p.Forge, m.id, m.key,
		func(d *dice) []int64 { return []int64{int64(d.next() % 8)} }); ok {
		w.store(o.Subject, &message{subject: subject, count: m.count, mark: "!", id: m.id ^ 2, from: from.i,
			data: w.forge(w.outsider, m.data, args[0])})
	}
	w.store(o.Subject, m)
	if _, ok := w.ask("twice", p.Twice, m.id, m.key, nil); ok {
		w.store(o.Subject, &message{subject: subject, count: m.count, mark: "'", id: m.id ^ 1, from: from.i,
			data: m.data})
	}
}

// store appends a message to the log, which delivers it to every listener.
func (w *world) store(subject string, m *message) {
	for _, i := range w.listeners(subject) {
		to := w.members[i]
		key := func() string { return m.key() + " " + to.name }
		id := m.id ^ uint64(i+1)<<56
		if _, ok := w.ask("hole", w.profile.Hole, id, key, nil); ok {
			continue
		}
		m := m
		if args, ok := w.ask("split", w.profile.Split, id, key,
			func(d *dice) []int64 { return []int64{int64(d.next() % 8)} }); ok {
			m = w.split(m, args[0])
		}
		to.log = append(to.log, m)
		at := w.now + 1
		if args, ok := w.ask("delay", w.profile.Delay, id, key,
			func(d *dice) []int64 { return []int64{d.delay()} }); ok {
			at += args[0]
		}
		w.queue.push(event{at: at, kind: arrive, to: i, incarnation: -1, msg: m})
		if args, ok := w.ask("again", w.profile.Again, id, key,
			func(d *dice) []int64 { return []int64{d.delay()} }); ok {
			w.queue.push(event{at: at + args[0], kind: arrive, to: i, incarnation: -1, msg: m})
		}
	}
}

// delay is mostly short, sometimes longer than a round.
func (d *dice) delay() int64 {
	if d.chance(.1) {
		return d.upto(800)
	}
	return d.upto(30)
}

func (w *world) listeners(subject string) []int {
	if l, ok := w.routes[subject]; ok {
		return l
	}
	var l []int
	for i := range w.members {
		if w.filters[i].Match(subject) {
			l = append(l, i)
		}
	}
	w.routes[subject] = l
	return l
}

// arrives puts a message into a member's inbox.
func (m *member) arrives(msg *message) {
	w := m.w
	if m.gone {
		return
	}
	if w.now >= m.cutFrom && w.now < m.cutTo {
		w.queue.push(event{at: m.cutTo, kind: arrive, to: m.i, incarnation: -1, msg: msg})
		return
	}
	m.inbox = append(m.inbox, msg)
	m.history = append(m.history, msg)
	m.kick(w.now)
}
