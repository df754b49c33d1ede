package natsbus_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"choir/transport/natsbus/embedded"
)

// proxy is a TCP relay: an address that stays while brokers behind it come and go, and a
// network that can be cut while the broker lives.
type proxy struct {
	listener net.Listener
	group    sync.WaitGroup

	mu     sync.Mutex
	target string // "": nobody is there
	conns  []net.Conn
	cuts   int           // connections ended by cut
	deaf   chan struct{} // not nil: swallows what clients say, and closes when there was something
}

func startProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener}
	p.group.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.group.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// aim sends the connections to come to a broker.
func (p *proxy) aim(broker *embedded.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = strings.TrimPrefix(broker.ClientURL(), "nats://")
}

func (p *proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == "" {
		return nil, errors.New("nobody is there")
	}
	return net.Dial("tcp", p.target)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := p.dial()
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.group.Go(func() { relay(client, server) })
		p.group.Go(func() { relay(hearing{p, server}, client) })
	}
}

// swallow loses what clients say from now on, until cut; the channel closes when something
// was lost.
func (p *proxy) swallow() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = make(chan struct{})
	return p.deaf
}

// hearing is a broker's connection as a client reaches it.
type hearing struct {
	proxy *proxy
	net.Conn
}

func (h hearing) Write(b []byte) (int, error) {
	h.proxy.mu.Lock()
	deaf := h.proxy.deaf
	if deaf == nil {
		h.proxy.mu.Unlock()
		return h.Conn.Write(b)
	}
	defer h.proxy.mu.Unlock()
	select {
	case <-deaf:
	default:
		close(deaf)
	}
	return len(b), nil
}

// relay copies in plain Go: with *net.TCPConn the kernel would, past Write.
func relay(to io.WriteCloser, from net.Conn) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	_ = to.Close()
	_ = from.Close()
}

// cut ends all connections in the middle of whatever they carry.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.cuts += len(p.conns) / 2
	p.conns, p.deaf = nil, nil
}
