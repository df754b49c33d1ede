package natsbus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"choir/transport"
	"choir/transport/natsbus"
)

// accounts is a broker's configuration with an account for each member: the hub's has the stream,
// and the others import the plan's subjects and JetStream's requests.
const accounts = `
listen: "127.0.0.1:-1"
jetstream: { store_dir: %q }
accounts: {
  HUB: {
    jetstream: enabled
    users: [ { user: "hub", password: "hub-pw" } ]
    exports: [
      { service: "choir.%[2]s.>" }
      { service: "$JS.API.>", response_type: "stream" }
    ]
  }
  PARTY: {
    users: [ { user: "party", password: "party-pw" } ]
    imports: [
      { service: { account: HUB, subject: "choir.%[2]s.>" } }
      { service: { account: HUB, subject: "$JS.API.>" }, to: "hub.JS.API.>" }
    ]
  }
}
`

// brokerWithAccounts starts a server with several accounts, which the embedded one does not have.
func brokerWithAccounts(t *testing.T) (url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, accounts, t.TempDir(), plan), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the broker does not start")
	}
	return s.ClientURL()
}

// TestMembersHaveAccounts checks that members in separate accounts publish and read over the hub's
// stream, large messages included, if their configuration has the prefix of JetStream's requests.
func TestMembersHaveAccounts(t *testing.T) {
	url := brokerWithAccounts(t)
	hub := openBus(t, natsbus.Config{
		URL: url, User: "hub", PasswordFile: write(t, "hub", "hub-pw"), Name: "hub",
	})
	party := openBus(t, natsbus.Config{
		URL: url, User: "party", PasswordFile: write(t, "party", "party-pw"), Name: "party",
		APIPrefix: "hub.JS.API",
	})
	for i, from := range []*natsbus.Bus{hub, party} {
		for j, to := range []*natsbus.Bus{hub, party} {
			data := make([]byte, 700<<10+i*2+j)
			s, err := to.Subscribe(newContext(t), []string{fmt.Sprintf("%s.%d.%d", subject, i, j)}, 0)
			if err != nil {
				t.Fatal(err)
			}
			m := transport.Message{Subject: fmt.Sprintf("%s.%d.%d", subject, i, j), Data: data}
			if err := from.Publish(newContext(t), m); err != nil {
				t.Fatal(err)
			}
			if m, err := s.Next(newContext(t)); err != nil || len(m.Data) != len(data) {
				t.Errorf("%d to %d: %d bytes, %v", i, j, len(m.Data), err)
			}
		}
	}
}
