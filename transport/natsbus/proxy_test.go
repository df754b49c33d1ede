package natsbus_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is a TCP relay: its address stays when the broker changes, and its connections can be cut
// while the broker runs.
type proxy struct {
	listener net.Listener
	group    sync.WaitGroup

	mu     sync.Mutex
	target string // "": no broker
	conns  []net.Conn
	cuts   int           // connections ended by cut
	deaf   chan struct{} // not nil: drops the clients' bytes, and closes when it has dropped some
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

// aim directs new connections to a broker.
func (p *proxy) aim(broker interface{ ClientURL() string }) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, p.target, _ = strings.Cut(broker.ClientURL(), "//")
}

func (p *proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == "" {
		return nil, errors.New("no broker")
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

// swallow drops the clients' bytes from now on, until cut. The channel closes when some were
// dropped.
func (p *proxy) swallow() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = make(chan struct{})
	return p.deaf
}

// hear ends what swallow began.
func (p *proxy) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = nil
}

// hearing is the clients' side of a connection.
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

// relay copies by Read and Write: with *net.TCPConn the kernel would bypass Write.
func relay(to io.WriteCloser, from net.Conn) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	_ = to.Close()
	_ = from.Close()
}

// cut closes all connections, in the middle of a message or not.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.cuts += len(p.conns) / 2
	p.conns, p.deaf = nil, nil
}
