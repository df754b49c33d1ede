//go:build linux && nightly

package main

import (
	"crypto/rand"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// quality is that of a wide-area link, for each direction of each connection.
type quality struct {
	delay, jitter time.Duration // a block takes delay ± jitter, and blocks stay in order
	rate          int           // bytes a second
	stall         time.Duration // for how long nothing moves, once in stallEvery on average
	stallEvery    time.Duration
	reset         time.Duration // a connection is reset after that long on average
}

// link forwards TCP connections to an address, with the quality of a wide-area link.
type link struct {
	quality
	to       string
	listener net.Listener
	all      sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	cut    bool // new connections are refused
	resets int
}

func newLink(t *testing.T, from, to string, q quality) *link {
	t.Helper()
	l, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	k := &link{quality: q, to: to, listener: l, open: map[net.Conn]bool{}}
	k.all.Go(k.accept)
	t.Cleanup(func() {
		_ = l.Close()
		k.partition(true)
		k.all.Wait()
	})
	return k
}

func (k *link) accept() {
	for {
		near, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.all.Go(func() { k.join(near) })
	}
}

// partition resets all connections, and refuses new ones as long as cut.
func (k *link) partition(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
	for c := range k.open {
		_ = c.Close()
	}
}

// join forwards a connection until one side closes it, or it is reset.
func (k *link) join(near net.Conn) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", k.to, 5*time.Second)
	if err != nil {
		return
	}
	defer far.Close()
	k.mu.Lock()
	refused := k.cut
	if !refused {
		k.open[near], k.open[far] = true, true
	}
	k.mu.Unlock()
	if refused {
		return
	}
	life := time.AfterFunc(time.Duration(randv2.ExpFloat64()*float64(k.reset)), func() {
		k.mu.Lock()
		k.resets++
		k.mu.Unlock()
		for _, c := range []net.Conn{near, far} {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset, as of a middlebox
			_ = c.Close()
		}
	})
	defer life.Stop()
	var both sync.WaitGroup
	both.Go(func() { k.carry(far, near) })
	k.carry(near, far)
	both.Wait()
	k.mu.Lock()
	delete(k.open, near)
	delete(k.open, far)
	k.mu.Unlock()
}

type block struct {
	data []byte
	due  time.Time
}

// carry moves one direction of a connection, and closes both ends at its end.
func (k *link) carry(to, from net.Conn) {
	blocks := make(chan block, 256)
	var writing sync.WaitGroup
	writing.Go(func() {
		for b := range blocks {
			time.Sleep(time.Until(b.due))
			if _, err := to.Write(b.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	})
	due, stall := time.Now(), time.Now().Add(k.nextStall())
	for {
		data := make([]byte, 16<<10)
		n, err := from.Read(data)
		if n > 0 {
			now := time.Now()
			at := now.Add(k.delay + time.Duration((2*randv2.Float64()-1)*float64(k.jitter)))
			if now.After(stall) {
				at, stall = at.Add(k.stall), now.Add(k.nextStall())
			}
			if due = due.Add(time.Duration(n) * time.Second / time.Duration(k.rate)); at.After(due) {
				due = at
			}
			blocks <- block{data[:n], due}
		}
		if err != nil {
			break
		}
	}
	close(blocks)
	writing.Wait()
	_, _ = io.Copy(io.Discard, from) // until it is closed
}

func (k *link) nextStall() time.Duration {
	return time.Duration(randv2.ExpFloat64() * float64(k.stallEvery))
}

// TestNightlyLinks: a session over links that delay, stall, are slow and are reset, between the members
// and the servers as well as among the servers, while the stream's leader and every member are killed and
// every server is cut off.
func TestNightlyLinks(t *testing.T) {
	const rounds = 50
	b := make([]byte, 2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.%d.%d.%d", 1+b[0]%250, b[1], i) }
	c := newCluster(t, [3]string{at(1), at(2), at(3)}, at(4), rounds, at(11), at(12), at(13))
	q := quality{delay: 20 * time.Millisecond, jitter: 10 * time.Millisecond, rate: 1 << 20,
		stall: 3 * time.Second, stallEvery: 30 * time.Second, reset: time.Minute}
	links := map[int][]*link{}
	for i, host := range c.hosts {
		for _, port := range []string{":4222", ":6222", ":7422"} {
			links[i] = append(links[i], newLink(t, c.far[i]+port, host+port, q))
		}
	}
	t.Cleanup(c.stop) // before the links go
	started := time.Now()
	c.up()
	c.untilRound(10)
	fmt.Printf("links of %v ± %v, %d KiB/s, stalls of %v every %v, resets every %v: 10 rounds in %.0f s\n",
		q.delay, q.jitter, q.rate>>10, q.stall, q.stallEvery, q.reset, time.Since(started).Seconds())
	n := 0
	fault := func(what string, do func()) {
		n++
		c.fault(rounds, what, do)
	}
	c.killLeader(fault)
	for _, u := range users {
		fault("kill -9 of "+u.member, func() {
			c.kill(u.member)
			c.startMember(u.member)
		})
	}
	for i := range c.hosts {
		fault(fmt.Sprintf("nats-%d cut off for 15 s", i+1), func() {
			for _, k := range links[i] {
				k.partition(true)
			}
			time.Sleep(15 * time.Second)
			for _, k := range links[i] {
				k.partition(false)
			}
		})
	}
	c.untilRound(rounds)
	c.ended()
	resets := 0
	for _, of := range links {
		for _, k := range of {
			k.mu.Lock()
			resets += k.resets
			k.mu.Unlock()
		}
	}
	if resets == 0 {
		t.Error("no connection was reset")
	}
	fmt.Printf("%d rounds with %d faults and %d reset connections in %.0f s\n", rounds, n, resets,
		time.Since(started).Seconds())
}
