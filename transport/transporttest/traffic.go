package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"choir/transport"
)

// chunk is the payload of a chunked vector, in bytes.
const chunk = 512 << 10

// fill returns data that depends on the index everywhere, so that a swap or a shift is detected. It
// and crc32 are fast even under the race detector.
func fill(n, index int) []byte {
	block := binary.LittleEndian.AppendUint64(nil, uint64(index)*0x9e3779b97f4a7c15)
	for len(block) < 61 { // not a power of two: no chunk boundary repeats the pattern
		block = append(block, byte(len(block)))
	}
	return bytes.Repeat(block, n/len(block)+1)[:n]
}

func severalSubscribers(h *harness) {
	const subscribers, n = 5, 200
	b := h.bus("publisher")
	errs := make(chan error, subscribers)
	for i := range subscribers {
		s := h.subscribe(h.bus(fmt.Sprint("s", i)), 0, ">")
		go func() {
			msgs, err := readMessages(h.ctx(), s, n)
			for j, m := range msgs {
				if string(m.Data) != fmt.Sprint(j) || m.Seq != uint64(j)+1 {
					err = errors.Join(err, fmt.Errorf("message %d is %q at %d", j, m.Data, m.Seq))
				}
			}
			errs <- err
		}()
	}
	for i := range n / 10 {
		h.publish(b, numbered(h.subject("x"), 10*i, 10)...)
	}
	for range subscribers {
		if err := <-errs; err != nil {
			h.t.Error(err)
		}
	}
}

func concurrentPublishers(h *harness) {
	const publishers, n = 8, 50
	shared := h.bus("shared")
	early, late := h.subscribe(h.bus("early"), 0, "p.*"), h.bus("late")
	var group sync.WaitGroup
	for p := range publishers {
		b := shared // half of them share a connection
		if p%2 == 0 {
			b = h.bus(fmt.Sprint("p", p))
		}
		group.Go(func() {
			for i := range n {
				m := transport.Message{Subject: h.subject("p.%d", p), Data: fmt.Append(nil, i)}
				if err := b.Publish(h.ctx(), m); err != nil {
					h.t.Error(err)
				}
			}
		})
	}
	first := h.read(early, publishers*n)
	group.Wait()
	second := h.read(h.subscribe(late, 0, ">"), publishers*n)
	next := make(map[string]int)
	for i, m := range first {
		if o := second[i]; o.Seq != m.Seq || o.Subject != m.Subject || !bytes.Equal(o.Data, m.Data) {
			h.t.Fatalf("two subscribers see %v and %v", m, o)
		}
		if want := next[m.Subject]; string(m.Data) != fmt.Sprint(want) {
			h.t.Fatalf("%s: %q, want %d", m.Subject, m.Data, want)
		}
		next[m.Subject]++
	}
}

func chunks(h *harness) {
	const n = 32
	b, s := h.bus("a"), h.subscribe(h.bus("b"), 0, "v.*")
	msgs := make([]transport.Message, n)
	for i := range msgs {
		msgs[i] = transport.Message{Subject: h.subject("v.%d", i), Data: fill(chunk, i)}
	}
	h.publish(b, msgs...)
	total := 0
	for i, m := range h.read(s, n) {
		if m.Subject != msgs[i].Subject || !bytes.Equal(m.Data, msgs[i].Data) {
			h.t.Fatalf("chunk %d arrived as %s, %d bytes", i, m.Subject, len(m.Data))
		}
		total += len(m.Data)
	}
	if total != n*chunk {
		h.t.Fatalf("%d bytes in, %d out", n*chunk, total)
	}
}

func ownership(h *harness) {
	b := h.bus("a")
	one, two := h.subscribe(b, 0, ">"), h.subscribe(b, 0, ">")
	data := []byte("before")
	h.publish(b, transport.Message{Subject: h.subject("x"), Data: data})
	copy(data, "sender")
	got := h.read(one, 1)[0]
	copy(got.Data, "reader")
	if m := h.read(two, 1)[0]; string(m.Data) != "before" {
		h.t.Fatalf("stored message became %q", m.Data)
	}
}

// backlog publishes 64 MiB while one subscriber reads nothing, and lets it catch up. Another
// subscribes at the end.
func backlog(h *harness) {
	const n = 64 << 20 / chunk
	b := h.bus("a")
	slow := h.subscribe(h.bus("slow"), 0, ">")
	var sums []uint32
	for i := range n {
		data := fill(chunk, i)
		sums = append(sums, crc32.ChecksumIEEE(data))
		h.publish(b, transport.Message{Subject: h.subject("v.%d", i), Data: data})
		if i == 0 {
			h.read(slow, 1) // it has started, and now stops
		}
	}
	h.wantChunks(slow, sums[1:])
	h.wantChunks(h.subscribe(h.bus("late"), 0, ">"), sums)
}

func (h *harness) wantChunks(s transport.Subscription, sums []uint32) {
	h.t.Helper()
	for i, sum := range sums {
		m := h.read(s, 1)[0]
		if len(m.Data) != chunk || crc32.ChecksumIEEE(m.Data) != sum {
			h.t.Fatalf("chunk %d of %d: %s, %d bytes, sum %x, want %x",
				i, len(sums), m.Subject, len(m.Data), crc32.ChecksumIEEE(m.Data), sum)
		}
	}
}

func cancellation(h *harness) {
	b, s := h.bus("a"), h.subscribe(h.bus("b"), 0, ">")
	for i := range 20 {
		ctx, cancel := context.WithTimeout(h.ctx(), time.Duration(i)*time.Millisecond)
		_, err := s.Next(ctx)
		cancel()
		h.wantErr(err, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithCancelCause(h.ctx())
	cancel(errors.New("a cause of the caller's"))
	_, err := s.Next(ctx)
	h.wantErr(err, context.Canceled)

	// Cancelled while messages arrive: none is lost.
	const n = 200
	whole := h.ctx()
	published := make(chan error, 1)
	go func() { published <- b.Publish(whole, numbered(h.subject("x"), 0, n)...) }()
	var msgs []transport.Message
	for len(msgs) < n && whole.Err() == nil {
		ctx, cancel := context.WithTimeout(whole, 100*time.Microsecond)
		m, err := s.Next(ctx)
		cancel()
		if err == nil {
			msgs = append(msgs, m)
		} else {
			h.wantErr(err, context.DeadlineExceeded)
		}
	}
	if err := <-published; err != nil || len(msgs) != n {
		h.t.Fatalf("%d of %d messages, publish: %v", len(msgs), n, err)
	}
	h.wantNumbers(msgs, 0)
}

func cancelledBefore(h *harness) {
	b := h.bus("a")
	s := h.subscribe(b, 0, ">")
	ctx, cancel := context.WithCancel(h.ctx())
	cancel()
	h.wantErr(b.Publish(ctx, transport.Message{Subject: h.subject("x")}), context.Canceled)
	_, err := b.Subscribe(ctx, []string{h.subject("x")}, 0)
	h.wantErr(err, context.Canceled)
	h.silent(s, b, h.subject("end"))
	_, err = s.Next(ctx)
	h.wantErr(err, context.Canceled)
}

func closeSubscription(h *harness) {
	b := h.bus("a")
	s, other := h.subscribe(b, 0, ">"), h.subscribe(b, 0, ">")
	h.waitsThenCloses(s, s.Close)
	if err := s.Close(); err != nil {
		h.t.Fatalf("closing twice: %v", err)
	}
	h.silent(other, b, h.subject("x"))
	_, err := s.Next(h.ctx())
	h.wantErr(err, transport.ErrClosed)
}

func closeBus(h *harness) {
	b, other := h.bus("a"), h.bus("b")
	s, unread := h.subscribe(b, 0, ">"), h.subscribe(b, 0, ">")
	h.waitsThenCloses(s, b.Close)
	if err := b.Close(); err != nil {
		h.t.Fatalf("closing twice: %v", err)
	}
	h.wantErr(b.Publish(h.ctx(), transport.Message{Subject: h.subject("x")}), transport.ErrClosed)
	_, err := b.Subscribe(h.ctx(), []string{h.subject("x")}, 0)
	h.wantErr(err, transport.ErrClosed)
	_, err = unread.Next(h.ctx())
	h.wantErr(err, transport.ErrClosed)
	h.silent(h.subscribe(other, 0, ">"), other, h.subject("x"))
}

// waitsThenCloses closes while another goroutine is, or is about to be, in Next.
func (h *harness) waitsThenCloses(s transport.Subscription, closing func() error) {
	h.t.Helper()
	result := make(chan error)
	go func() {
		_, err := s.Next(h.ctx())
		result <- err
	}()
	time.Sleep(10 * time.Millisecond) // usually it waits by then; both orders are correct
	if err := closing(); err != nil {
		h.t.Fatalf("close: %v", err)
	}
	h.wantErr(<-result, transport.ErrClosed)
}
