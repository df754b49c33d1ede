package natsbus_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"choir/transport"
	"choir/transport/natsbus"
)

// accounts is a broker's configuration with an account for each member: the hub's has the stream,
// and the others import the plan's subjects and JetStream's requests.
const accounts = `
listen: "127.0.0.1:-1"
websocket: { listen: "127.0.0.1:-1", no_tls: true }
jetstream: { store_dir: %q }
accounts: {
  HUB: {
    jetstream: enabled
    users: [ { user: "hub", password: "hub-pw" } ]
    exports: [
      { service: "choir.%[2]s.>" }
      { service: "choir-here.>" }
      { stream: "choir-here.>" }
      { service: "$JS.API.STREAM.INFO.*" }
      { service: "$JS.API.CONSUMER.CREATE.>" }
      { service: "$JS.API.CONSUMER.MSG.NEXT.>", response_type: "stream" }
    ]
  }
  PARTY: {
    users: [ { user: "party", password: "party-pw" } ]
    imports: [
      { service: { account: HUB, subject: "choir.%[2]s.>" } }
      { service: { account: HUB, subject: "choir-here.>" } }
      { stream: { account: HUB, subject: "choir-here.>" } }
      { service: { account: HUB, subject: "$JS.API.STREAM.INFO.*" }, to: "hub.JS.API.STREAM.INFO.*" }
      { service: { account: HUB, subject: "$JS.API.CONSUMER.CREATE.>" }, to: "hub.JS.API.CONSUMER.CREATE.>" }
      { service: { account: HUB, subject: "$JS.API.CONSUMER.MSG.NEXT.>" }
        to: "hub.JS.API.CONSUMER.MSG.NEXT.>" }
    ]
  }
}
`

// brokerWithAccounts starts a server with several accounts, which the embedded one does not have.
func brokerWithAccounts(t *testing.T) (url, websocket string) {
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
	return s.ClientURL(), s.WebsocketURL()
}

// TestMembersHaveAccounts checks that members in separate accounts publish and read over the hub's
// stream, large messages included, if their configuration has the prefix of JetStream's requests.
// One of them uses a websocket. With these imports a member cannot list, change or delete streams.
func TestMembersHaveAccounts(t *testing.T) {
	url, websocket := brokerWithAccounts(t)
	hub := openBus(t, natsbus.Config{
		URL: url, User: "hub", PasswordFile: write(t, "hub", "hub-pw"), Name: "hub",
	})
	party := openBus(t, natsbus.Config{
		URL: websocket, User: "party", PasswordFile: write(t, "party", "party-pw"), Name: "party",
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
	for name, to := range map[string]*natsbus.Bus{"hub": hub, "party": party} {
		t.Run(name, func(t *testing.T) {
			heard, ctx := make(chan string, 8), newContext(t)
			if err := to.Listen(func(data []byte) {
				select {
				case heard <- string(data):
				case <-ctx.Done(): // the test is over: the subscription lives as long as the bus
				}
			}); err != nil {
				t.Fatal(err)
			}
			all := map[string]bool{}
			for len(all) < 2 { // an announcement before the subscription is there is lost
				for said, from := range map[string]*natsbus.Bus{"by hub": hub, "by party": party} {
					if err := from.Announce([]byte(said)); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case said := <-heard:
					all[said] = true
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
					t.Fatalf("%s heard only %v", name, all)
				}
			}
		})
	}
	for _, request := range []string{"STREAM.NAMES", "STREAM.LIST", "STREAM.DELETE." + stream,
		"STREAM.PURGE." + stream, "STREAM.UPDATE." + stream, "STREAM.CREATE.other"} {
		for _, prefix := range []string{"hub.JS.API.", "$JS.API."} {
			if err := asParty(t, url, prefix+request); err == nil {
				t.Errorf("%s%s is answered", prefix, request)
			}
		}
	}
	if err := asParty(t, url, "hub.JS.API.STREAM.INFO."+stream); err != nil {
		t.Errorf("what is imported isn't answered: %v", err)
	}
}

// asParty sends a request of JetStream's API with the party's password. Without an import nobody
// answers, or the party's own account, which has no JetStream: both are an error.
func asParty(t *testing.T, url, subject string) error {
	t.Helper()
	conn, err := nats.Connect(url, nats.UserInfo("party", "party-pw"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.RequestWithContext(newContext(t), subject, nil)
	if err == nil && strings.Contains(string(answer.Data), `"error"`) {
		return errors.New(string(answer.Data))
	}
	return err
}
