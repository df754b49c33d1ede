package simulate

import (
	"fmt"
	"strings"

	"choir/protocol"
)

// logf writes a line of the story: time, member and the number of its batch,
// event.
func (w *world) logf(m *member, format string, args ...any) {
	if w.story != nil {
		fmt.Fprintf(w.story, "%6d %-6s %s\n", w.now, m.batchKey(), fmt.Sprintf(format, args...))
	}
}

// logStep writes a step: the event, its notices, messages and requests. A step
// without effects is left out.
func (w *world) logStep(m *member, ev protocol.Event, msg *message, eff *protocol.Effects) {
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
	w.logf(m, "%s", eventName(ev, msg))
	for _, p := range parts {
		fmt.Fprintf(w.story, "                %s\n", p)
	}
}

func eventName(ev protocol.Event, msg *message) string {
	switch ev.(type) {
	case protocol.CaughtUp:
		return "has caught up"
	case protocol.Start:
		return "starts"
	case protocol.Tick:
		return "tick"
	case protocol.Proposal:
		return "has its update"
	}
	return "< " + msg.key()
}
