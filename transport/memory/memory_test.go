package memory_test

import (
	"os"
	"testing"

	"choir/transport"
	"choir/transport/memory"
	"choir/transport/transporttest"
)

func TestMain(m *testing.M) { os.Exit(transporttest.Main(m)) }

type factory struct{ hub *memory.Hub }

func (factory) Backend() string { return "memory" }
func (factory) Prefix() string  { return "" }

func (f factory) Open(t testing.TB, name string) transport.Bus {
	b := f.hub.Connect(name)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func open(testing.TB) transporttest.Factory { return factory{memory.NewHub()} }

func TestConformance(t *testing.T) {
	transporttest.Run(t, "memory", "*memory.Bus", open)
}

func BenchmarkTransfer(b *testing.B) {
	transporttest.Benchmark(b, open(b))
}
