package transporttest

import (
	"fmt"
	"slices"
	"strings"

	"choir/transport"
)

func numbered(subject string, from, n int) []transport.Message {
	msgs := make([]transport.Message, n)
	for i := range msgs {
		msgs[i] = transport.Message{Subject: subject, Data: fmt.Append(nil, from+i)}
	}
	return msgs
}

func (h *harness) wantNumbers(msgs []transport.Message, from int) {
	h.t.Helper()
	for i, m := range msgs {
		if got, want := string(m.Data), fmt.Sprint(from+i); got != want {
			h.t.Fatalf("message %d (Seq %d) is %q, want %q", i, m.Seq, got, want)
		}
	}
}

func replayStart(h *harness) {
	b := h.bus("a")
	h.publish(b, numbered(h.subject("x"), 0, 100)...)
	for from := range uint64(2) { // 0 and 1 mean the same
		msgs := h.read(h.subscribe(h.bus("b"), from, ">"), 100)
		h.wantNumbers(msgs, 0)
		if msgs[0].Seq != 1 || msgs[99].Seq != 100 {
			h.t.Fatalf("Seq runs from %d to %d, want 1 to 100", msgs[0].Seq, msgs[99].Seq)
		}
	}
}

func replayMiddle(h *harness) {
	b := h.bus("a")
	h.publish(b, numbered(h.subject("x"), 0, 100)...)
	for _, from := range []uint64{2, 50, 100} {
		msgs := h.read(h.subscribe(b, from, ">"), 101-int(from))
		h.wantNumbers(msgs, int(from)-1)
	}
	future := h.subscribe(b, 103, ">")
	h.publish(b, numbered(h.subject("x"), 100, 5)...)
	h.wantNumbers(h.read(future, 3), 102)
}

func liveAfterReplay(h *harness) {
	b, s := h.bus("a"), h.subscribe(h.bus("b"), 0, ">")
	for i := range 20 {
		h.publish(b, numbered(h.subject("x"), i*10, 10)...)
		h.wantNumbers(h.read(s, 10), i*10)
	}
}

// caughtUp: a subscription reports that it has returned what was stored before it, not earlier, also
// when the last of that does not match its filters.
func caughtUp(h *harness) {
	b := h.bus("a")
	h.publish(b, numbered(h.subject("x"), 0, 5)...)
	h.publish(b, numbered(h.subject("other"), 0, 3)...)
	for from, stored := range map[uint64]int{0: 5, 4: 2, 9: 0} {
		s := h.subscribe(h.bus("b"), from, "x")
		h.read(s, stored)
		select {
		case <-s.CaughtUp():
			h.t.Errorf("from %d: caught up before the call that follows the last message", from)
		default:
		}
		got := make(chan error, 1)
		go func() {
			_, err := s.Next(h.ctx())
			got <- err
		}()
		select {
		case <-s.CaughtUp():
		case <-h.ctx().Done():
			h.t.Fatalf("from %d: not caught up after %d messages", from, stored)
		}
		_ = s.Close()
		if err := <-got; err == nil {
			h.t.Errorf("from %d: a message more than was stored", from)
		}
	}
}

func filters(h *harness) {
	b := h.bus("a")
	subjects := strings.Fields("a a.b a.c a.b.c a.b.d b.b.c b c.d.e.f end")
	for _, subject := range subjects {
		h.publish(b, transport.Message{Subject: h.subject("%s", subject)})
	}
	for _, row := range []struct{ filters, want string }{
		{">", "a a.b a.c a.b.c a.b.d b.b.c b c.d.e.f end"},
		{"a", "a"},
		{"a.>", "a.b a.c a.b.c a.b.d"},
		{"a.*", "a.b a.c"},
		{"*.b.*", "a.b.c a.b.d b.b.c"},
		{"*", "a b end"},
		{"a.b.c b", "a.b.c b"},
		{"a.> a.b", "a.b a.c a.b.c a.b.d"},               // one covers the other
		{"a.*.c *.b.c", "a.b.c b.b.c"},                   // they overlap
		{"a.b.* *.b.c c.>", "a.b.c a.b.d b.b.c c.d.e.f"}, // and a third
		{"a a.b.c.d.e >", "a a.b a.c a.b.c a.b.d b.b.c b c.d.e.f end"},
		{"a a", "a"},
		{"nothing.*", ""},
	} {
		h.filter(b, subjects, strings.Fields(row.filters), strings.Fields(row.want))
	}
}

// filter checks what is delivered of the history up to its last message, "end".
func (h *harness) filter(b transport.Bus, history, filters, want []string) {
	h.t.Helper()
	wanted := slices.Contains(want, "end")
	s := h.subscribe(b, 0, append(slices.Clone(filters), "end")...)
	var got []string
	for {
		m := h.read(s, 1)[0]
		name := strings.TrimPrefix(m.Subject, h.f.Prefix())
		if at := slices.Index(history, name); m.Seq != uint64(at)+1 {
			h.t.Fatalf("%s has Seq %d, want %d", name, m.Seq, at+1)
		}
		if name != "end" || wanted {
			got = append(got, name)
		}
		if name == "end" {
			break
		}
	}
	if !slices.Equal(got, want) {
		h.t.Fatalf("filters %v deliver %v, want %v", filters, got, want)
	}
}

func filterValidity(h *harness) {
	b := h.bus("a")
	bad := []string{
		"", "a..b", "a.>.b", "a.b*", "a b", ">.a", "a.", "a.\x00", "ä", strings.Repeat("a.", 20) + "a",
	}
	for _, filter := range bad {
		_, err := b.Subscribe(h.ctx(), []string{h.subject("ok"), h.f.Prefix() + filter}, 0)
		if h.f.Prefix() == "" || filter != "" {
			h.wantErr(err, transport.ErrSubject)
		}
	}
	_, err := b.Subscribe(h.ctx(), nil, 0)
	h.wantErr(err, transport.ErrSubject)
}

func subjectValidity(h *harness) {
	b, s := h.bus("a"), h.subscribe(h.bus("b"), 0, ">")
	long := h.f.Prefix() + strings.Repeat("a.", transport.MaxTokens-strings.Count(h.f.Prefix(), ".")-1)
	bad := []string{
		"", ".", "a..b", "a.", ".a", "*", "a.*", ">", "a.>", "a b", "a\n", "a/b", "é", "a\r\nPUB x 0",
		long + "a.a", strings.Repeat("a", transport.MaxSubject+1),
	}
	for _, subject := range bad {
		ok := transport.Message{Subject: h.subject("ok")}
		err := b.Publish(h.ctx(), ok, transport.Message{Subject: h.f.Prefix() + subject})
		h.wantErr(err, transport.ErrSubject)
	}
	h.silent(s, b, h.subject("end")) // a refused call stores nothing, not even what was fine
	for _, subject := range []string{long + "a", h.subject("A-z_09")} {
		h.silent(s, b, subject)
	}
}

func payloadLimit(h *harness) {
	b, s := h.bus("a"), h.subscribe(h.bus("b"), 0, ">")
	for _, size := range []int{0, 1, chunk} {
		h.publish(b, transport.Message{Subject: h.subject("x"), Data: make([]byte, size)})
		if m := h.read(s, 1)[0]; len(m.Data) != size {
			h.t.Fatalf("%d bytes arrived as %d", size, len(m.Data))
		}
	}
	big := transport.Message{Subject: h.subject("x"), Data: make([]byte, transport.MaxPayload+1)}
	h.wantErr(b.Publish(h.ctx(), transport.Message{Subject: h.subject("x")}, big), transport.ErrPayload)
	h.silent(s, b, h.subject("end"))
	h.publish(b) // nothing is fine too
}
