package simulate

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"choir/protocol"
)

// rollback is a session in which one member's store goes back, once, to what it was when the
// member was in a round for the first time.
type rollback struct {
	who      string
	until    protocol.Code // the notice after which the store goes back
	snapshot map[string][]byte
	said     [][]byte // what must never be sent with two contents
	ends     []error
	halted   bool
	hidden   bool // the bus hides what the member itself said
}

// run simulates the session. The bus and all members are honest.
func (r *rollback) run(t *testing.T, setup Setup) *world {
	var w *world
	s := seams{giveUp: 60_000}
	s.machine = func(m *member, honest protocol.Machine) protocol.Machine {
		if m.name != r.who {
			return honest
		}
		life := m.incarnation
		return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
			if life == 0 && m.disk.Get("round") == nil && m.disk.Get("attempt") == nil {
				r.snapshot = maps.Clone(m.disk.durable)
			}
			eff := inner.Step(now, ev)
			r.hear(w, &eff)
			for _, n := range eff.Notices {
				if n.Code == r.until && life == 0 && !r.halted {
					r.halted = true
					w.queue.push(event{at: w.now + 2, kind: halt, to: m.i, incarnation: -1})
					w.queue.push(event{at: w.now + 3, kind: boot, to: m.i, incarnation: -1})
				}
			}
			if eff.Done {
				r.ends = append(r.ends, eff.Err)
			}
			return eff
		}}
	}
	s.session = func(m *member) protocol.BoundPlan { // called before a machine is made
		if m.name == r.who && m.incarnation == 1 {
			m.disk.durable = maps.Clone(r.snapshot)
			if r.hidden {
				m.history = slices.DeleteFunc(m.history, func(msg *message) bool { return msg.from == m.i })
			}
			m.inbox = append([]*message(nil), m.history...) // its position on the bus went back, too
		}
		return m.w.session
	}
	var err error
	if w, err = newWorld(setup, Profile{}, newChaos(3, nil, true), s); err != nil {
		t.Fatal(err)
	}
	w.run()
	return w
}

func (r *rollback) hear(w *world, eff *protocol.Effects) {
	for _, o := range eff.Send {
		if c, err := protocol.ViewChunk(o.Data); err == nil {
			r.said = append(r.said, bytes.Clone(c.Ciphertext))
			continue
		}
		if e, m, err := w.session.Receive(o.Data); err == nil && w.session.Name(e.From) == r.who {
			switch m.(type) {
			case *protocol.Partial, *protocol.Contribution:
				r.said = append(r.said, bytes.Clone(o.Data))
			}
		}
	}
}

// TestRolledBackStore: a member whose store was restored from an earlier copy reads on the bus what
// it no longer remembers, and stops before it reveals or contributes again, wherever the noise is.
func TestRolledBackStore(t *testing.T) {
	for name, r := range map[string]rollback{
		"node":  {who: "c0", until: protocol.NoteRevealed},
		"party": {who: "p0", until: protocol.NoteReceipt},
	} {
		for _, noise := range []protocol.Placement{protocol.NoiseParty, protocol.NoiseCompute} {
			t.Run(name+" "+noise.String(), func(t *testing.T) {
				r := r
				setup := Setup{Seed: 3, Parties: 4, Computes: 3, Dim: 4, Rounds: 1, MinParties: 3, Noise: noise}
				w := r.run(t, setup)
				contents := map[string]bool{}
				for _, b := range r.said {
					contents[string(b)] = true
				}
				if len(contents) != 2 { // a signed head and a chunk
					t.Errorf("%d different messages of a reveal or a contribution, not 2", len(contents))
				}
				for _, v := range w.oracle.violations {
					if v.Rule == "two reveals" || v.Rule == "noised twice" {
						t.Error(v)
					}
				}
				if len(r.ends) == 0 || !errors.Is(r.ends[len(r.ends)-1], protocol.ErrMismatch) ||
					!strings.Contains(r.ends[len(r.ends)-1].Error(), "rolled back") {
					t.Errorf("it ended with %v", r.ends)
				}
			})
		}
	}
}

// TestRolledBackWithoutHistory: a bus that hides what a restored node said gets the same bytes from
// it again, and nothing new, even if the noise is the node's.
func TestRolledBackWithoutHistory(t *testing.T) {
	r := rollback{who: "c0", until: protocol.NoteRevealed, hidden: true}
	setup := Setup{Seed: 3, Parties: 4, Computes: 3, Dim: 4, Rounds: 1, MinParties: 3,
		Noise: protocol.NoiseCompute}
	r.run(t, setup)
	contents := map[string]bool{}
	for _, b := range r.said {
		contents[string(b)] = true
	}
	if len(contents) != 2 || len(r.said) < 4 {
		t.Errorf("%d messages of a reveal, %d different; want each of 2 again", len(r.said), len(contents))
	}
}
