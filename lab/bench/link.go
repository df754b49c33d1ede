package bench

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"choir/protocol"
)

// Link is the connection of each member to the broker. The zero value is the machine's own.
type Link struct {
	RTT  float64 `json:"rtt_seconds"`       // of a round trip between the member and the broker, up to 10
	Mbit float64 `json:"megabits_a_second"` // in each direction, from 0.01; 0: no limit
}

func (l Link) validate(transport string) error {
	switch {
	case l == Link{}:
		return nil
	case transport != NATS:
		return protocol.Fail(protocol.ClassInput, "rtt, mbit: transport %s has no links; nats has", transport)
	case !(l.RTT >= 0 && l.RTT <= 10):
		return protocol.Fail(protocol.ClassInput, "rtt: %g s is not in 0..10", l.RTT)
	case l.Mbit != 0 && !(l.Mbit >= 0.01 && l.Mbit <= 1e6):
		return protocol.Fail(protocol.ClassInput, "mbit: %g is not in 0.01..1000000", l.Mbit)
	}
	return nil
}

// relay passes a member's connections on to the broker, over a link.
type relay struct {
	link           Link
	broker         string
	listener       net.Listener
	group          sync.WaitGroup
	sent, received atomic.Int64 // bytes, of the member

	mu    sync.Mutex
	conns []net.Conn
	ended chan struct{}
}

// startRelay starts a relay to a broker's address.
func startRelay(l Link, brokerURL string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{link: l, broker: strings.TrimPrefix(brokerURL, "nats://"), listener: listener,
		ended: make(chan struct{})}
	r.group.Go(r.accept)
	return r, nil
}

func (r *relay) url() string { return "nats://" + r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		member, err := r.listener.Accept()
		if err != nil {
			return
		}
		broker, err := net.Dial("tcp", r.broker)
		if err != nil || !r.keep(member, broker) {
			_ = member.Close()
			continue
		}
		r.group.Go(func() { r.pass(broker, member, &r.sent) })
		r.group.Go(func() { r.pass(member, broker, &r.received) })
	}
}

// keep notes connections for close.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
		closeAll(conns)
		return false
	default:
	}
	r.conns = append(r.conns, conns...)
	return true
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close() // it carries nothing that anyone waits for
	}
}

// close ends all connections, and what is under way in them.
func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	close(r.ended)
	closeAll(r.conns)
	r.mu.Unlock()
	r.group.Wait()
}

// Bounds of what is under way in one direction of a link: pieces of that size, of which there may be so
// many. A sender waits when it is full.
const (
	linkPiece  = 16 << 10
	linkPieces = 1024
)

// inFlight is bytes that arrive at a time.
type inFlight struct {
	bytes []byte
	due   time.Time
}

// pass copies one direction: bytes leave one after another at the link's rate, and arrive half a round trip
// later.
func (r *relay) pass(to, from net.Conn, count *atomic.Int64) {
	queue := make(chan inFlight, linkPieces)
	r.group.Go(func() {
		defer func() { _ = to.Close() }()
		for p := range queue {
			select {
			case <-r.ended:
			case <-time.After(time.Until(p.due)):
			}
			if _, err := to.Write(p.bytes); err != nil {
				_ = from.Close() // ends the loop below
			}
		}
	})
	defer close(queue)
	for free := time.Now(); ; {
		b := make([]byte, linkPiece)
		n, err := from.Read(b)
		if n > 0 {
			count.Add(int64(n))
			if now := time.Now(); free.Before(now) {
				free = now
			}
			if r.link.Mbit > 0 {
				free = free.Add(time.Duration(float64(8*n) / r.link.Mbit * float64(time.Microsecond)))
			}
			queue <- inFlight{b[:n], free.Add(time.Duration(r.link.RTT / 2 * float64(time.Second)))}
		}
		if err != nil {
			return
		}
	}
}
