package natsbus_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy is a TCP relay that can be cut and refused: a network that fails while the broker lives.
type proxy struct {
	listener net.Listener
	target   string
	group    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	cuts  int // connections ended by cut
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	p.group.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.group.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.group.Go(func() { relay(client, server) })
		p.group.Go(func() { relay(server, client) })
	}
}

func relay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
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
	p.conns = nil
}
