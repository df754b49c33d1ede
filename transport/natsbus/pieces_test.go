package natsbus_test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go"

	"choir/transport"
	"choir/transport/internal/fragment"
)

// TestForgedPieces publishes pieces of other clients' messages, and messages with any header, as
// every client with the permission can. Whole messages still arrive, and Resume never skips an
// incomplete message.
func TestForgedPieces(t *testing.T) {
	r := startRestartable(t)
	b, js := r.bus(), r.admin()
	raw := func(header string, data []byte) {
		t.Helper()
		m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{"Choir-Piece": {header}}}
		if _, err := js.PublishMsg(newContext(t), m); err != nil {
			t.Fatal(err)
		}
	}
	large := bytes.Repeat([]byte("large"), fragment.Size/2)
	h := fragment.Header{ID: fragment.ID{1}, Count: fragment.Count(len(large))}
	put := func(i int) {
		t.Helper()
		raw(fragment.Header{ID: h.ID, Index: i, Count: h.Count}.String(), fragment.Piece(large, i))
	}
	outside := fragment.Header{ID: h.ID, Index: 5, Count: 5}
	for _, header := range []string{"nonsense", "..", h.String() + "0", outside.String()} {
		raw(header, []byte("x")) // 1 to 4
	}
	put(0)                           // 5
	put(0)                           // 6: twice
	raw(h.String(), []byte("short")) // 7
	publishSome(t, b, 1)             // 8
	put(2)                           // 9
	publishSome(t, b, 1)             // 10
	put(1)                           // 11: whole
	put(1)                           // 12: late
	publishSome(t, b, 1)             // 13
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []transport.Message{
		{Seq: 8, Resume: 5}, {Seq: 10, Resume: 5}, {Seq: 11, Resume: 12}, {Seq: 13, Resume: 14},
	} {
		m, err := s.Next(newContext(t))
		if err != nil || m.Seq != want.Seq || m.Resume != want.Resume {
			t.Fatalf("at %d, resume %d, %v, want %d and %d", m.Seq, m.Resume, err, want.Seq, want.Resume)
		}
		if m.Seq == 11 && !bytes.Equal(m.Data, large) {
			t.Fatalf("%d bytes, not the %d that were sent", len(m.Data), len(large))
		}
	}
}

// TestPiecesSurviveRestart restarts the broker while large messages are sent. Each arrives whole, once
// for each time that it was published.
func TestPiecesSurviveRestart(t *testing.T) {
	r := startRestartable(t)
	b, reader := r.bus(), r.bus()
	s, err := reader.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const n, size = 6, 16 << 20
	published := make(chan error, 1)
	go func() {
		for i := range n {
			data := bytes.Repeat(append([]byte{byte(i)}, "0123456"...), size/8)
			if err := b.Publish(newContext(t), transport.Message{Subject: subject, Data: data}); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	for i := range n {
		if i%2 == 0 {
			r.server.Shutdown()
			r.start()
		}
		m, err := s.Next(newContext(t))
		if err != nil || len(m.Data) != size || m.Data[0] != byte(i) || m.Data[size-8] != byte(i) {
			t.Fatalf("message %d: %d bytes, %v", i, len(m.Data), err)
		}
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
}
