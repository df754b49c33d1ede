package transporttest

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"sync"

	"choir/transport"
)

// largeMessages sends messages from one byte below the size of a piece to the largest that a Bus
// carries, between small ones: they arrive in order, live and replayed.
func largeMessages(h *harness) {
	b, live := h.bus("a"), h.subscribe(h.bus("b"), 0, ">")
	const piece = 528 << 10
	sizes := []int{piece - 1, piece, piece + 1, 3, 2 * piece, 2*piece + 1, 0, transport.MaxPayload}
	var sums []uint32
	for i, size := range sizes {
		data := fill(size, i)
		sums = append(sums, crc32.ChecksumIEEE(data))
		h.publish(b, transport.Message{Subject: h.subject("large.%d", i), Data: data})
	}
	for _, s := range []transport.Subscription{live, h.subscribe(b, 0, ">")} {
		for i, m := range h.read(s, len(sizes)) {
			want := h.subject("large.%d", i)
			if m.Subject != want || len(m.Data) != sizes[i] || crc32.ChecksumIEEE(m.Data) != sums[i] {
				h.t.Fatalf("%s of %d bytes arrived as %s of %d", want, sizes[i], m.Subject, len(m.Data))
			}
			if m.Resume != m.Seq+1 {
				h.t.Fatalf("%s at %d: no message is incomplete, and Resume is %d", m.Subject, m.Seq, m.Resume)
			}
		}
	}
}

// interleaved sends large and small messages over several connections at once. All arrive whole,
// and a subscription from any message's Resume misses nothing after it.
func interleaved(h *harness) {
	const publishers, n, size = 4, 6, 5*(528<<10) + 77
	watch := h.subscribe(h.bus("watch"), 0, "m.>")
	var group sync.WaitGroup
	for p := range publishers {
		b := h.bus(fmt.Sprint("p", p))
		group.Go(func() {
			for i := range n {
				data := fill(size*(i%2), p*n+i)
				m := transport.Message{Subject: h.subject("m.%d.%d", p, i), Data: data}
				if err := b.Publish(h.ctx(), m); err != nil {
					h.t.Error(err)
				}
			}
		})
	}
	group.Wait()
	all := h.read(watch, publishers*n)
	seen := map[string]bool{}
	for _, m := range all {
		var p, i int
		if _, err := fmt.Sscanf(m.Subject, h.subject("m.%%d.%%d"), &p, &i); err != nil {
			h.t.Fatal(err)
		}
		if seen[m.Subject] || !bytes.Equal(m.Data, fill(size*(i%2), p*n+i)) {
			h.t.Fatalf("%s: %d bytes, or for a second time", m.Subject, len(m.Data))
		}
		seen[m.Subject] = true
	}
	again := h.bus("again")
	for i := 0; i < len(all)-1; i += 5 {
		h.wantTail(again, all, i)
	}
}

// wantTail resumes after message i and checks that all that followed it arrive, perhaps after some
// earlier ones.
func (h *harness) wantTail(b transport.Bus, all []transport.Message, i int) {
	h.t.Helper()
	s := h.subscribe(b, all[i].Resume, "m.>")
	next := i + 1
	for next < len(all) {
		m := h.read(s, 1)[0]
		switch {
		case m.Seq == all[next].Seq && m.Subject == all[next].Subject:
			next++
		case m.Seq > all[next].Seq:
			h.t.Fatalf("resumed at %d after message %d: %s is missing",
				all[i].Resume, all[i].Seq, all[next].Subject)
		}
	}
	if err := s.Close(); err != nil {
		h.t.Fatal(err)
	}
}
