package simulate

import (
	"fmt"
	"strings"

	"choir/protocol"
)

// tell writes what a step did, one line: time, member, event, and what it made
// durable, sent and noticed. A step that did nothing is left out.
func (w *world) tell(m *member, ev protocol.Event, msg *message, eff *protocol.Effects) {
	var parts []string
	for _, n := range eff.Notices {
		s := "! " + string(n.Code)
		if n.Peer != "" {
			s += " " + n.Peer
		}
		if n.Detail != "" {
			s += " " + n.Detail
		}
		if n.Err != nil {
			s += ": " + n.Err.Error()
		}
		parts = append(parts, s)
	}
	for _, o := range eff.Send {
		parts = append(parts, "> "+strings.TrimPrefix(o.Subject, w.prefix))
	}
	if eff.Propose != nil {
		parts = append(parts, fmt.Sprintf("? update %d.%d", eff.Propose.Round, eff.Propose.Attempt))
	}
	if eff.Done {
		parts = append(parts, fmt.Sprintf("done: %v", eff.Err))
	}
	if len(parts) == 0 {
		return
	}
	fmt.Fprintf(w.story, "%6d %-3s %s\n", w.now, m.name, eventName(ev, msg))
	for _, p := range parts {
		fmt.Fprintf(w.story, "           %s\n", p)
	}
}

func eventName(ev protocol.Event, msg *message) string {
	switch ev.(type) {
	case protocol.Start:
		return "starts"
	case protocol.Tick:
		return "tick"
	case protocol.Proposal:
		return "has its update"
	}
	return "< " + msg.key()
}
