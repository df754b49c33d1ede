package simulate

import (
	"testing"

	"choir/protocol"
)

// Planted are the bugs that Plant builds in, each with the attack of the lab that looks for it.
func Planted() map[string]string {
	all := map[string]string{wordOfVoid: "lies"}
	for _, b := range plantedBugs() {
		if b.seams.only == "" && b.profile != "liars" && b.profile != "rewinds" { // rarer than the lab looks
			all[b.name] = "faults"
		}
	}
	return all
}

// Plant builds a bug into every session until the test ends.
func Plant(t *testing.T, name string) {
	plantedBug = func(s seams) seams {
		if name == wordOfVoid {
			return s.over(believeVoid())
		}
		for _, b := range plantedBugs() {
			if b.name == name {
				return s.over(b.seams)
			}
		}
		panic("no such bug: " + name)
	}
	t.Cleanup(func() { plantedBug = nil })
}

// over adds the seams of a bug below those of a session.
func (s seams) over(bug seams) seams {
	if bug.session != nil {
		s.session = bug.session
	}
	if bug.random != nil {
		s.random = bug.random
	}
	if bug.app != nil {
		s.app = bug.app
	}
	cheats := s.machine
	if bug.machine == nil {
		return s
	}
	s.machine = func(m *member, honest protocol.Machine) protocol.Machine {
		honest = bug.machine(m, honest)
		if cheats != nil {
			honest = cheats(m, honest)
		}
		return honest
	}
	return s
}

const wordOfVoid = "believe that an attempt is void"

// believeVoid takes an attempt as void on the aggregator's word: a party then knows no better than to
// refuse the true result.
func believeVoid() seams {
	return seams{machine: func(m *member, honest protocol.Machine) protocol.Machine {
		if m.role != protocol.RoleParty {
			return honest
		}
		void := map[uint32]bool{}
		return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
			if d, ok := ev.(protocol.Delivery); ok {
				_, msg, err := m.w.session.Receive(d.Data)
				if r, ok := msg.(*protocol.Result); err == nil && ok {
					void[r.Round] = void[r.Round] || r.Outcome == protocol.OutcomeVoid
					if void[r.Round] {
						ev = protocol.Tick{}
					}
				}
			}
			return inner.Step(now, ev)
		}}
	}}
}

// replay simulates one session with exactly the faults of a script.
func replay(setup Setup, script []Fault) Result { return replaySeams(setup, script, seams{}) }
