package natsbus_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
	"choir/transport/transporttest"
)

const plan = "00c0ffee"

func TestMain(m *testing.M) { os.Exit(transporttest.Main(m)) }

func newContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// write makes a file that only its owner can read.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func startServer(t testing.TB, config embedded.Config) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server
}

// openBus connects and ensures that the stream exists.
func openBus(t testing.TB, config natsbus.Config) *natsbus.Bus {
	t.Helper()
	config.Plan = plan
	b, err := natsbus.Open(newContext(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if err := b.EnsureStream(newContext(t)); err != nil {
		t.Fatal(err)
	}
	return b
}

type factory struct{ config natsbus.Config }

func (factory) Backend() string { return "natsbus" }
func (factory) Prefix() string  { return "choir." + plan + "." }

func (f factory) Open(t testing.TB, name string) transport.Bus {
	f.config.Name = name
	return openBus(t, f.config)
}

// inProcess: no socket, memory storage.
func inProcess(t testing.TB) transporttest.Factory {
	server := startServer(t, embedded.Config{StoreDir: t.TempDir()})
	return factory{natsbus.Config{Server: server, Storage: natsbus.Memory}}
}

// overTCP: a listener with a token, file storage.
func overTCP(t testing.TB) transporttest.Factory {
	token := write(t, "token", "s3cret\n")
	server := startServer(t, embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token})
	if !strings.HasPrefix(server.ClientURL(), "nats://127.0.0.1:") {
		t.Fatalf("URL %q", server.ClientURL())
	}
	return factory{natsbus.Config{URL: server.ClientURL(), TokenFile: token}}
}

func TestConformanceInProcess(t *testing.T) {
	transporttest.Run(t, "natsbus", "*natsbus.Bus", inProcess)
}

func TestConformanceTCP(t *testing.T) {
	transporttest.Run(t, "natsbus", "*natsbus.Bus", overTCP)
}

func BenchmarkTransfer(b *testing.B) {
	for name, open := range map[string]func(testing.TB) transporttest.Factory{
		"memory": inProcess, "file": overTCP,
	} {
		b.Run(name, func(b *testing.B) { transporttest.Benchmark(b, open(b)) })
	}
}
