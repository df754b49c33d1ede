package member

import (
	"encoding/json"
	"sync"
	"time"

	"choir/crypto/identity"
	"choir/host/status"
	"choir/protocol"
	"choir/transport/natsbus"
)

// announcement is what a member tells the others about itself that listen. It decides nothing.
type announcement struct {
	Member  uint32   `json:"member"`
	Time    int64    `json:"time"` // of the member's clock, in milliseconds; each later than the one before
	State   string   `json:"state"`
	Round   uint32   `json:"round"`
	Settled uint32   `json:"settled"`
	Waiting []string `json:"waiting,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// envelope is a signed announcement, or the question who is there.
type envelope struct {
	Ask  bool                `json:"ask,omitempty"`
	Body []byte              `json:"body,omitempty"` // an announcement as JSON
	Sig  *identity.Signature `json:"sig,omitempty"`
}

// maxAnnounced bounds the names and the texts of an announcement.
const (
	maxAnnouncedNames = 20
	maxAnnouncedText  = 512
)

// announcedBy is what a member signs.
func announcedBy(plan protocol.BoundPlan, body []byte) []byte {
	return append([]byte("choir v1 announcement\x00"+plan.ID.String()), body...)
}

// hearing is the time of the last announcement that was heard of each member, by the member's own
// clock. Members' clocks need not agree: a time is compared with the same member's only.
//
// Whoever may publish at the broker can repeat an announcement, but not to a listener that has heard
// it or a later one: so a member that is gone cannot be kept there. A member that starts again with
// its clock set back is missing at the others until the clock is past its last announcement, or they
// start again.
type hearing struct {
	mu   sync.Mutex
	last map[uint32]int64
}

// later reports whether a member's announcement is later than all that were heard, and remembers it.
func (h *hearing) later(a *announcement) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last, ok := h.last[a.Member]; ok && a.Time <= last {
		return false
	}
	if h.last == nil {
		h.last = map[uint32]int64{}
	}
	h.last[a.Member] = a.Time
	return true
}

// next returns the time of the next announcement. It is later than the last one, also when the clock
// was set back meanwhile.
func (w *watcher) next(now time.Time) int64 {
	w.announced = max(w.announced+1, now.UnixMilli())
	return w.announced
}

// announce tells the others how the member is. Nothing reports whether they heard it.
func (w *watcher) announce(bus *natsbus.Bus) {
	v, note := w.Status(), ""
	if word := w.word.Load(); word != nil {
		note = *word
	}
	a := announcement{Member: w.m.Index, Time: w.next(time.Now()), State: v.State, Round: v.Round,
		Settled: v.Settled, Waiting: v.Waiting[:min(len(v.Waiting), maxAnnouncedNames)],
		Note: note[:min(len(note), maxAnnouncedText)]}
	body, err := json.Marshal(a)
	if err != nil {
		return
	}
	sig := w.m.Key.Sign(announcedBy(w.m.Session, body))
	if data, err := json.Marshal(envelope{Body: body, Sig: &sig}); err == nil {
		_ = bus.Announce(data) // not connected: the next one
	}
}

// hear records another member's announcement, and answers the question who is there.
func (w *watcher) hear(data []byte) {
	p, ask := w.heard.read(w.m.Session, data)
	if p != nil {
		w.Heard(*p)
	}
	if ask {
		select {
		case w.asked <- struct{}{}:
		default:
		}
	}
}

// read returns what a member has announced, nil if its signature is wrong or it is not later than the
// last one, and whether it is the question who is there.
func (h *hearing) read(s protocol.BoundPlan, data []byte) (p *status.Peer, ask bool) {
	var e envelope
	var a announcement
	if json.Unmarshal(data, &e) != nil {
		return nil, false
	}
	if e.Sig == nil || json.Unmarshal(e.Body, &a) != nil || uint64(a.Member) >= uint64(len(s.Plan.Members)) {
		return nil, e.Ask
	}
	member := s.Plan.Members[a.Member]
	if !identity.Verify(member.Key, announcedBy(s, e.Body), *e.Sig) || !h.later(&a) {
		return nil, false
	}
	p = &status.Peer{Name: member.Name, Role: member.Role.String(), State: protocol.Printable(a.State),
		Round: a.Round, Settled: a.Settled, Note: protocol.Printable(a.Note)}
	for _, name := range a.Waiting[:min(len(a.Waiting), maxAnnouncedNames)] {
		p.Waiting = append(p.Waiting, protocol.Printable(name))
	}
	return p, false // its texts are short and have nothing that would steer a terminal
}
