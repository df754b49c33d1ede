package protocol_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"choir/protocol"
)

// counter is a machine that counts the messages it gets, acknowledges each, and ends after
// three.
type counter struct {
	view  protocol.View
	count uint32
}

// newCounter returns a counter that resumes from its store.
func newCounter(view protocol.View) *counter {
	c := &counter{view: view}
	if b := view.Get("count"); b != nil {
		c.count = binary.BigEndian.Uint32(b)
	}
	return c
}

// Step implements protocol.Machine.
func (c *counter) Step(now int64, ev protocol.Event) (eff protocol.Effects) {
	switch ev := ev.(type) {
	case protocol.Delivery:
		c.count++
		eff.Put("count", binary.BigEndian.AppendUint32(nil, c.count))
		eff.Emit("ack", fmt.Appendf(nil, "%d: %s", c.count, ev.Data))
		if c.count == 3 {
			eff.Finish(nil)
		}
	}
	eff.Wake = now + 1000 // for a Tick, if nothing is delivered before
	return eff
}

// store is a View in memory. A real one is on disk.
type store map[string][]byte

func (s store) Get(key string) []byte { return s[key] }

func (s store) Keys(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(key string) bool {
		return !strings.HasPrefix(key, prefix)
	})
}

// drive gives a machine one event and carries out the effects: first it makes the records
// durable, and only then it sends the messages.
func drive(m protocol.Machine, s store, now int64, ev protocol.Event) (done bool) {
	eff := m.Step(now, ev)
	for _, r := range eff.Persist {
		if r.Value == nil {
			delete(s, r.Key)
		} else {
			s[r.Key] = r.Value
		}
	}
	for _, out := range eff.Send {
		fmt.Printf("%s %s\n", out.Subject, out.Data)
	}
	return eff.Done
}

// A driver steps a machine, makes its records durable and sends its messages. After a crash it
// makes the machine from the store, and the machine resumes.
func ExampleMachine() {
	s := store{}
	var m protocol.Machine = newCounter(s)
	drive(m, s, 0, protocol.Start{})
	drive(m, s, 1, protocol.Delivery{Data: []byte("a")})
	drive(m, s, 2, protocol.Delivery{Data: []byte("b")})

	m = newCounter(s) // the process was restarted
	drive(m, s, 3, protocol.Start{})
	done := drive(m, s, 4, protocol.Delivery{Data: []byte("c")})
	fmt.Println("done:", done)
	// Output:
	// ack 1: a
	// ack 2: b
	// ack 3: c
	// done: true
}
