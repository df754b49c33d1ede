package transporttest

import (
	"context"
	"testing"

	"choir/transport"
)

// Benchmark measures the transfer of chunks: one connection publishes b.N chunks of 512 KiB in
// batches of 16 (8 MiB) while another reads them. MB/s counts each byte once.
func Benchmark(b *testing.B, f Factory) {
	const batch = 16
	ctx := context.Background()
	from, to := f.Open(b, "from"), f.Open(b, "to")
	s, err := to.Subscribe(ctx, []string{f.Prefix() + ">"}, 0)
	if err != nil {
		b.Fatal(err)
	}
	msg := transport.Message{Subject: f.Prefix() + "x", Data: fill(chunk, 1)}
	b.SetBytes(chunk)
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		for left := b.N; left > 0; left -= batch {
			msgs := make([]transport.Message, min(batch, left))
			for i := range msgs {
				msgs[i] = msg
			}
			if err := from.Publish(ctx, msgs...); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range b.N {
		if m, err := s.Next(ctx); err != nil || len(m.Data) != chunk {
			b.Fatalf("chunk %d: %d bytes, %v", i, len(m.Data), err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
