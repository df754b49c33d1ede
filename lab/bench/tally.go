package bench

import (
	"choir/protocol"
	"choir/transport"
)

// Flow is messages and their bytes as members encode them. A broker's framing, headers and
// acknowledgements are not counted.
type Flow struct {
	MessagesSent     int64 `json:"messages_sent"`
	BytesSent        int64 `json:"bytes_sent"`
	MessagesReceived int64 `json:"messages_received"` // what its filters let through, its own among them
	BytesReceived    int64 `json:"bytes_received"`
}

// RoleTraffic is what one member of a role sends and receives: the most of any of them.
type RoleTraffic struct {
	Role    string `json:"role"`
	Members int    `json:"members"`
	Setup   Flow   `json:"setup"` // keys and channels, once a plan
	Round   Flow   `json:"round"` // everything else, by round
	// all that passed the link of a member in the session, with the broker's framing, headers and
	// acknowledgements; nil without links
	Wire *Wire `json:"wire,omitempty"`
}

// Wire is bytes on a connection to the broker.
type Wire struct {
	BytesSent     int64 `json:"bytes_sent"`
	BytesReceived int64 `json:"bytes_received"`
}

// tally counts the messages of a session by member.
type tally struct {
	session   protocol.BoundPlan
	members   []struct{ setup, round Flow }
	listeners transport.Index[uint32]
	wire      []Wire // by member, nil if unknown
}

func newTally(s protocol.BoundPlan) *tally {
	t := &tally{session: s, members: make([]struct{ setup, round Flow }, len(s.Plan.Members))}
	for i := range t.members {
		t.listeners.Add(uint32(i), s.Filters(uint32(i)))
	}
	return t
}

// isSetup reports whether a message sets up a channel, by its subject: an Open may be sent after a
// round was opened.
func isSetup(subject string) bool {
	switch topic(subject) {
	case "key", "open", "group":
		return true
	}
	return false
}

// add counts a message.
func (t *tally) add(from uint32, subject string, bytes int) {
	of := func(i uint32) *Flow {
		if isSetup(subject) {
			return &t.members[i].setup
		}
		return &t.members[i].round
	}
	f := of(from)
	f.MessagesSent++
	f.BytesSent += int64(bytes)
	t.listeners.Match(subject, func(to uint32) {
		f := of(to)
		f.MessagesReceived++
		f.BytesReceived += int64(bytes)
	})
}

// addAll counts a member's messages.
func (t *tally) addAll(from uint32, out []protocol.Outgoing) {
	for _, o := range out {
		t.add(from, o.Subject, len(o.Data))
	}
}

// traffic is the tally by role, of a session with a number of rounds.
func (t *tally) traffic(rounds int) []RoleTraffic {
	roles := []RoleTraffic{{Role: "party"}, {Role: "compute"}, {Role: "aggregator"}}
	for i, m := range t.members {
		r := &roles[2]
		switch t.session.Plan.Members[i].Role {
		case protocol.RoleParty:
			r = &roles[0]
		case protocol.RoleCompute:
			r = &roles[1]
		}
		r.Members++
		r.Setup.most(m.setup, 1)
		r.Round.most(m.round, int64(rounds))
		if t.wire == nil {
			continue
		}
		if r.Wire == nil {
			r.Wire = new(Wire)
		}
		r.Wire.BytesSent = max(r.Wire.BytesSent, t.wire[i].BytesSent)
		r.Wire.BytesReceived = max(r.Wire.BytesReceived, t.wire[i].BytesReceived)
	}
	return roles
}

// most makes each figure at least that of another flow, divided.
func (f *Flow) most(other Flow, by int64) {
	f.MessagesSent = max(f.MessagesSent, other.MessagesSent/by)
	f.BytesSent = max(f.BytesSent, other.BytesSent/by)
	f.MessagesReceived = max(f.MessagesReceived, other.MessagesReceived/by)
	f.BytesReceived = max(f.BytesReceived, other.BytesReceived/by)
}
