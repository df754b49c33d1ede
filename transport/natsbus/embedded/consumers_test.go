package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nats "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"choir/transport/natsbus"
)

// TestConsumerLimit checks that the broker's default of a thousand consumers does not bound a plan,
// and that a stream is created in an account that allows fewer.
func TestConsumerLimit(t *testing.T) {
	e, err := Start(Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Shutdown()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for i, want := range []int{1 << 18, -1} {
		if want < 0 {
			limits := map[string]server.JetStreamAccountLimits{
				"": {MaxMemory: 1 << 20, MaxStore: 1 << 20, MaxStreams: 9, MaxConsumers: 3},
			}
			if err := e.server.GlobalAccount().UpdateJetStreamLimits(limits); err != nil {
				t.Fatal(err)
			}
		}
		b, err := natsbus.Open(ctx, natsbus.Config{Server: e, Plan: fmt.Sprintf("%08x", i)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if err := b.EnsureStream(ctx); err != nil {
			t.Fatal(err)
		}
		if got := allowed(t, e, i); got != want {
			t.Fatalf("the stream allows %d consumers, want %d", got, want)
		}
	}
}

// allowed returns how many consumers the newest of several streams allows.
func allowed(t *testing.T, e *Server, i int) int {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(e))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for info := range js.ListStreams(t.Context()).Info() {
		if strings.Contains(info.Config.Name, fmt.Sprintf("%08x", i)) {
			return info.Config.MaxConsumers
		}
	}
	t.Fatalf("no stream of plan %08x", i)
	return 0
}
