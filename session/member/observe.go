package member

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"choir/host/status"
	"choir/protocol"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
)

// Observer follows a session from a member's place at the broker, whether the member runs there or
// not. It needs no key: what it shows of the rounds is signed by the aggregator, and what it shows
// of a member by that member.
type Observer struct {
	session protocol.BoundPlan
	bus     *natsbus.Bus
	stop    context.CancelFunc
	reading chan struct{}
	heard   hearing

	mu    sync.Mutex
	facts Progress
	peers map[string]status.Peer
	since time.Time // of the connection
	asked time.Time // when members were last asked to announce themselves
	err   error     // why the reader has ended
}

// Progress is what an observer knows of a session.
type Progress struct {
	SchemaVersion int           `json:"schema_version"`
	Plan          string        `json:"plan"`
	Name          string        `json:"name"`
	Rounds        uint32        `json:"rounds"` // of the plan
	Round         uint32        `json:"round"`  // the last that was opened
	Attempt       uint32        `json:"attempt"`
	Settled       uint32        `json:"settled"`
	Outcome       string        `json:"outcome,omitempty"` // of the last attempt that is over
	Counted       []string      `json:"counted"`           // the parties in the last result
	Completed     bool          `json:"completed"`
	Ended         string        `json:"ended,omitempty"` // why it ended early
	Expires       time.Time     `json:"expires"`
	Members       []status.Peer `json:"members"`
	Missing       []string      `json:"missing"`   // members that do not answer
	Listening     time.Time     `json:"listening"` // since when members could be heard
	// BrokerLost is when the connection to the broker was lost, if it is. Who was not missing then is
	// not missing: no one can be heard.
	BrokerLost *time.Time `json:"broker_lost,omitempty"`

	cause error // of the early end
}

// Observe connects to the broker as the configured member. The plan need not be valid any more.
func Observe(ctx context.Context, c *Config) (*Observer, error) {
	for _, need := range []struct{ key, value string }{{"plan_file", c.PlanFile}, {"bus.url", c.Bus.URL}} {
		if need.value == "" {
			return nil, protocol.Fail(protocol.ClassInput, "config: %s is missing", need.key)
		}
	}
	signed, err := terms.ReadPlan(c.PlanFile)
	if err != nil {
		return nil, err
	}
	s := protocol.Bind(signed.Plan)
	o := &Observer{session: s, peers: map[string]status.Peer{}, since: time.Now().UTC(),
		reading: make(chan struct{})}
	o.facts = Progress{SchemaVersion: 1, Plan: s.ID.String(), Name: s.Plan.Name, Rounds: s.Plan.Rounds,
		Counted: []string{}, Expires: time.Unix(s.Plan.NotAfter, 0).UTC()}
	if err := o.connect(ctx, c); err != nil {
		return nil, err
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(o.reading)
		o.read(ctx)
	}()
	return o, nil
}

func (o *Observer) connect(ctx context.Context, c *Config) (err error) {
	name := memberName(c)
	config := c.bus(o.session, o.session.Plan.Aggregator())
	config.Name = name + "-observer"
	if config.InboxPrefix == "" {
		config.InboxPrefix = "_INBOX_" + name
	}
	config.Connected = o.connected
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(c.connectLimit(), cancel).Stop()
	if o.bus, err = natsbus.Open(limited, config); err != nil {
		return (&Member{Config: c}).busError(ctx, limited, c.connectLimit(), err, false)
	}
	return o.bus.Listen(o.hear)
}

// connected records that the connection was lost or is back.
func (o *Observer) connected(up bool, _ error) {
	now := time.Now().UTC()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.facts.BrokerLost = &now; up {
		o.facts.BrokerLost, o.since = nil, now
	}
}

// memberName is the name of the configured member, as its card or key file has it.
func memberName(c *Config) string {
	for _, path := range []string{c.CardFile, c.KeyFile} {
		if path != "" {
			return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		}
	}
	return "observer"
}

// Close ends the observer.
func (o *Observer) Close() error {
	o.stop()
	err := o.bus.Close()
	<-o.reading
	return err
}

func (o *Observer) hear(data []byte) {
	if p, _ := o.heard.read(o.session, data); p != nil {
		now := time.Now().UTC()
		p.Heard = &now
		o.mu.Lock()
		o.peers[p.Name] = *p
		o.mu.Unlock()
	}
}

// Ask makes all members announce themselves now. It is an error of the connection if it cannot.
func (o *Observer) Ask() error {
	data, err := json.Marshal(envelope{Ask: true})
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.asked = time.Now()
	o.mu.Unlock()
	return o.bus.Announce(data)
}

// read follows the aggregator's messages from the beginning.
func (o *Observer) read(ctx context.Context) {
	prefix := "choir." + o.session.ID.Short() + "."
	for ctx.Err() == nil {
		sub, err := o.bus.Subscribe(ctx, []string{prefix + "ctl", prefix + "result.*.*.head"}, 0)
		for err == nil {
			var m transport.Message
			if m, err = sub.Next(ctx); err == nil {
				o.learn(m.Data)
			}
		}
		if !errors.Is(err, transport.ErrLost) {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			return
		}
	}
}

// learn takes a message of the aggregator's, if its signature holds.
func (o *Observer) learn(data []byte) {
	_, m, err := o.session.Receive(data)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f := &o.facts
	switch m := m.(type) {
	case *protocol.Round:
		f.Round, f.Attempt = m.Round, m.Attempt
	case *protocol.Result:
		f.Outcome, f.Counted = m.Outcome.String(), []string{}
		for _, e := range m.Set {
			f.Counted = append(f.Counted, o.session.Name(e.Party))
		}
		if m.Outcome != protocol.OutcomeVoid {
			f.Settled = max(f.Settled, m.Round)
			f.Completed = f.Settled == f.Rounds
		}
	case *protocol.MixRound:
		f.Round, f.Attempt = m.Round, m.Attempt
	case *protocol.MixResult:
		f.Outcome = m.Outcome.String()
		if m.Outcome != protocol.OutcomeVoid {
			f.Settled = max(f.Settled, m.Round)
			f.Completed = f.Settled == f.Rounds
		}
	case *protocol.Abort:
		f.cause = m.Cause()
		f.Ended = f.cause.Error()
	}
}

// Progress returns what is known by now. A member that did not announce itself for patience, nor since the
// last Ask, is missing; the error is that of the connection.
func (o *Observer) Progress(patience time.Duration) (*Progress, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.facts
	p.Members, p.Missing, p.Listening = []status.Peer{}, []string{}, o.since
	now := time.Now()
	if p.BrokerLost != nil {
		now = *p.BrokerLost
	}
	for _, m := range o.session.Plan.Members {
		peer, ok := o.peers[m.Name]
		if !ok {
			peer = status.Peer{Name: m.Name, Role: m.Role.String(), State: "unheard"}
		}
		heard, answered := o.since, false
		if peer.Heard != nil {
			heard, answered = later(heard, *peer.Heard), !o.asked.IsZero() && !peer.Heard.Before(o.asked)
		}
		if peer.State != "completed" && !answered && now.Sub(heard) > patience {
			peer.Missing = true
			p.Missing = append(p.Missing, m.Name)
		}
		p.Members = append(p.Members, peer)
	}
	if p.Completed || p.Ended != "" {
		p.Missing = []string{}
	}
	return &p, o.err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Over returns how the session ended: nil if it has completed, and whether it is over.
func (p *Progress) Over(now time.Time) (error, bool) {
	switch {
	case p.Completed:
		return nil, true
	case errors.Is(p.cause, protocol.ErrExpired):
		return p.cause, true
	case p.Ended != "":
		return protocol.Fail(protocol.ClassQuorum, "%s", p.Ended), true
	case now.After(p.Expires):
		return protocol.Fail(protocol.ClassIntegrity, "%w: at %s, after %d of %d rounds", protocol.ErrExpired,
			p.Expires.Format(time.RFC3339), p.Settled, p.Rounds), true
	}
	return nil, false
}
