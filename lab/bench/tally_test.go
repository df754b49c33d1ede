package bench

import (
	"fmt"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/transport"
)

// TestTraffic checks the formulas in docs/benchmarks/method.md against sessions under both drivers and
// over both transports: all but the bytes of receipts, which depend on how many are signed together.
func TestTraffic(t *testing.T) {
	for _, cfg := range []Config{
		{Parties: 5, Computes: 3, Dim: 300, Transport: Memory, Driver: DriverStream},
		{Parties: 5, Computes: 3, Dim: 300, Transport: Memory, Driver: DriverHost, Rounds: 3},
		{Parties: 5, Computes: 3, Dim: 300, Transport: NATS, Driver: DriverHost, Rounds: 3},
		{Parties: 7, Computes: 2, Dim: 70000, Transport: Memory, Driver: DriverStream},
		{Parties: 7, Computes: 2, Dim: 70000, Transport: Memory, Driver: DriverHost},
		{Parties: 12, Computes: 5, Dim: 301, Transport: Memory, Driver: DriverStream, Pairs: PairsYes},
	} {
		t.Run(cfg.Transport+" "+cfg.Driver, func(t *testing.T) {
			cfg.Suite, cfg.Repeats = channel.SuiteX25519, 1
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			checkTraffic(t, r)
		})
	}
}

// checkTraffic compares with the formulas all that does not depend on chance: the sizes of receipts do, and
// over some rounds a node has now more shares, now fewer.
func checkTraffic(t *testing.T, r *Result) {
	t.Helper()
	n, m, vector := int64(r.Parties), int64(r.Computes), int64(8*r.elements())
	pieces := (vector + 1<<19 - 1) >> 19
	wrap := 75 * (pieces - 1) // of all pieces but the first
	shares := (n + m - 1) / m
	want := []RoleTraffic{
		{"party", r.Parties, Flow{m + 1, 177 * (m + 1), m + 3, 157*(m+2) + 165},
			Flow{pieces + 1, vector + wrap + 344 + 16*m, 2*m + 3 + pieces, 0}, nil},
		{"compute", r.Computes, Flow{2, 157 + 177, n + 1, 157 + 177*n},
			Flow{n + 4 + pieces, 0, n + shares*pieces + 2*m + 4, 0}, nil},
		{"aggregator", 1, Flow{2*n + 1, 0, n + m, 177 * (n + m)},
			Flow{2 + pieces, 0, n + 1 + (4+pieces)*m, 0}, nil},
	}
	row := fmt.Sprintf("| party | %d | a round | %d | %d |", n, pieces+1, r.UploadBytesPerParty)
	if text := r.markdown(); !strings.Contains(text, row) {
		t.Errorf("no table of traffic in %s", text)
	}
	for i, w := range want {
		got := r.Traffic[i]
		if received := got.Round.MessagesReceived; r.Rounds > 1 && w.Role == "compute" &&
			received == w.Round.MessagesReceived-1 {
			got.Round.MessagesReceived++
		}
		for _, f := range []struct{ got, want Flow }{{got.Setup, w.Setup}, {got.Round, w.Round}} {
			exact(t, w.Role, "messages sent", f.got.MessagesSent, f.want.MessagesSent)
			exact(t, w.Role, "bytes sent", f.got.BytesSent, f.want.BytesSent)
			exact(t, w.Role, "messages received", f.got.MessagesReceived, f.want.MessagesReceived)
			exact(t, w.Role, "bytes received", f.got.BytesReceived, f.want.BytesReceived)
		}
	}
	for role, least := range []int64{vector, vector * shares, vector * m} {
		if got := r.Traffic[role].Round.BytesReceived; r.Rounds == 1 && (got < least || got > least+600*(n+m)+
			200*n*m+wrap*(shares+m)) {
			t.Errorf("%s receives %d bytes, of which vectors are %d", want[role].Role, got, least)
		}
	}
}

// exact compares a figure with a formula; 0 stands for none.
func exact(t *testing.T, role, what string, got, want int64) {
	t.Helper()
	if got != want && (want != 0 || got == 0) {
		t.Errorf("%s: %d %s, want %d", role, got, what, want)
	}
}

// TestLateOpen checks that a channel that is opened after a round began counts to the set-up.
func TestLateOpen(t *testing.T) {
	w, err := newWorld(small(Memory, DriverHost, 0).withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	s, log := w.session, newTraffic(len(w.keys))
	subject := func(rest string) transport.Message {
		return transport.Message{Subject: "choir." + s.ID.Short() + "." + rest, Data: make([]byte, 100)}
	}
	log.record(8, []transport.Message{subject("ctl")})
	log.record(0, []transport.Message{subject("open.p0000000.c0000"), subject("commit.0.p0000000.1.1")})
	r := log.tally(s).traffic(1)
	if p := r[0]; p.Setup.BytesSent != 100 || p.Round.BytesSent != 100 || p.Round.MessagesReceived != 2 {
		t.Errorf("%+v", p)
	}
	if n := r[1]; n.Setup.MessagesReceived != 1 || n.Round.MessagesReceived != 2 {
		t.Errorf("%+v", n)
	}
}
