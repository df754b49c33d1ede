package member_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startServer starts a server with other limits than the embedded one has.
func startServer(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.Host, options.Port, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, t.TempDir()
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.WaitForShutdown)
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	return s
}
