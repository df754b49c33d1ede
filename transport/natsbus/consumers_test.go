package natsbus

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestConsumerLimit: the broker's default of a thousand consumers doesn't bound a plan, and an
// account that allows few is no obstacle to fewer.
func TestConsumerLimit(t *testing.T) {
	e, err := StartServer(ServerConfig{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Shutdown()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for i, want := range []int{maxConsumers, -1} {
		if want < 0 {
			limits := map[string]server.JetStreamAccountLimits{"": {MaxMemory: 1 << 20, MaxStore: 1 << 20, MaxStreams: 9, MaxConsumers: 3}}
			if err := e.server.GlobalAccount().UpdateJetStreamLimits(limits); err != nil {
				t.Fatal(err)
			}
		}
		b, err := Open(ctx, Config{Server: e, Plan: fmt.Sprintf("%08x", i)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if err := b.EnsureStream(ctx); err != nil {
			t.Fatal(err)
		}
		stream, err := b.js.Stream(ctx, b.config.stream())
		if err != nil || stream.CachedInfo().Config.MaxConsumers != want {
			t.Fatalf("the stream allows %d consumers, want %d, %v", stream.CachedInfo().Config.MaxConsumers, want, err)
		}
	}
}
