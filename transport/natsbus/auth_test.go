package natsbus_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

func wantAuth(t *testing.T, err error, mention string) {
	t.Helper()
	if !errors.Is(err, transport.ErrAuth) || !strings.Contains(err.Error(), mention) {
		t.Fatalf("error %v, want %v that mentions %q", err, transport.ErrAuth, mention)
	}
}

func TestTokenRequired(t *testing.T) {
	token := write(t, "token", "s3cret")
	server := startServer(t, embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token})
	for name, file := range map[string]string{"none": "", "wrong": write(t, "wrong", "guess")} {
		t.Run(name, func(t *testing.T) {
			_, err := natsbus.Open(newContext(t), natsbus.Config{URL: server.ClientURL(), TokenFile: file, Plan: plan})
			wantAuth(t, err, "")
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "guess") {
				t.Fatalf("the error tells the token: %v", err)
			}
		})
	}
	openBus(t, natsbus.Config{URL: server.ClientURL(), TokenFile: token})
	openBus(t, natsbus.Config{Server: server, Storage: natsbus.Memory})
}

// A client whose token the broker does not accept any more gets ErrAuth from its operations.
func TestTokenRevoked(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.server.Shutdown()
	r.config.TokenFile = write(t, "token", "another")
	r.start()
	_, err = s.Next(newContext(t))
	wantAuth(t, err, "")
	wantAuth(t, b.Publish(newContext(t), chunkOf(0)), "")
	_, err = b.Subscribe(newContext(t), []string{">"}, 0)
	wantAuth(t, err, "")
}

// A token file that changes together with the broker's is read again.
func TestTokenRotated(t *testing.T) {
	r := startRestartable(t)
	b := r.bus()
	r.server.Shutdown()
	if err := os.WriteFile(r.config.TokenFile, []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	if err := b.Publish(newContext(t), chunkOf(0)); err != nil {
		t.Fatal(err)
	}
}

// members starts a broker with an unrestricted "hub" and a "party" that has these permissions.
func members(t *testing.T, publish, subscribe []string) (hub, party natsbus.Config) {
	hubFile, partyFile := write(t, "hub", "hub-pw"), write(t, "party", "party-pw")
	server := startServer(t, embedded.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0",
		Users: []embedded.User{
			{Name: "hub", PasswordFile: hubFile},
			{Name: "party", PasswordFile: partyFile, Publish: publish, Subscribe: subscribe},
		},
	})
	hub = natsbus.Config{URL: server.ClientURL(), Plan: plan, User: "hub", PasswordFile: hubFile, Name: "hub"}
	party = natsbus.Config{
		URL: server.ClientURL(), Plan: plan, User: "party", PasswordFile: partyFile, Name: "party",
	}
	return hub, party
}

const stream = "CHOIR_" + plan

// partyAPI is the JetStream subjects that a party needs.
var partyAPI = []string{
	"$JS.API.STREAM.INFO." + stream,
	"$JS.API.CONSUMER.CREATE." + stream + ".>",
	"$JS.API.CONSUMER.MSG.NEXT." + stream + ".>",
}

func TestPermissions(t *testing.T) {
	own := subject + ".party"
	hub, party := members(t, append([]string{own}, partyAPI...), []string{"_INBOX_party.>"})
	openBus(t, hub)
	b := openBus(t, party) // the stream exists: no permission to create is needed
	s, err := b.Subscribe(newContext(t), []string{">"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	foreign := subject + ".hub"
	err = b.Publish(newContext(t), transport.Message{Subject: own}, transport.Message{Subject: foreign})
	wantAuth(t, err, foreign)
	if err := b.Publish(newContext(t), transport.Message{Subject: own}); err != nil {
		t.Fatalf("a refusal must not spoil what is allowed: %v", err)
	}
	for range 2 {
		if m, err := s.Next(newContext(t)); err != nil || m.Subject != own {
			t.Fatalf("%s, %v", m.Subject, err)
		}
	}
}

func TestPermissionMissing(t *testing.T) {
	api := "$JS.API."
	for name, row := range map[string]struct {
		publish, subscribe []string
		mention            string
	}{
		"create stream":   {partyAPI, []string{"_INBOX_party.>"}, api + "STREAM.CREATE"},
		"stream info":     {[]string{subject}, []string{"_INBOX_party.>"}, api + "STREAM.INFO"},
		"create consumer": {[]string{api + "STREAM.>"}, []string{"_INBOX_party.>"}, api + "CONSUMER.CREATE"},
		"pull": {
			[]string{api + "STREAM.>", partyAPI[1]}, []string{"_INBOX_party.>"}, api + "CONSUMER.MSG.NEXT",
		},
		"inbox": {nil, []string{"_INBOX_hub.>"}, "_INBOX_party"},
	} {
		t.Run(name, func(t *testing.T) {
			_, party := members(t, row.publish, row.subscribe)
			b, err := natsbus.Open(newContext(t), party)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err = b.EnsureStream(newContext(t)); err == nil {
				var s transport.Subscription
				if s, err = b.Subscribe(newContext(t), []string{">"}, 0); err == nil {
					_, err = s.Next(newContext(t))
				}
			}
			wantAuth(t, err, row.mention)
		})
	}
}

// A client with an inbox prefix and permissions for it cannot read what another one pulls.
func TestInboxIsPrivate(t *testing.T) {
	hub, party := members(t, append([]string{subject}, partyAPI...), []string{"_INBOX_party.>"})
	b := openBus(t, hub)
	denied := make(chan error, 8)
	closed := make(chan struct{})
	spy, err := nats.Connect(party.URL, nats.UserInfo("party", "party-pw"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { spy.Close(); <-closed }()
	overheard, err := spy.SubscribeSync("_INBOX_hub.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-denied; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatal(err)
	}
	subscribedAfter(t, b, 3)
	if n, _, _ := overheard.Pending(); n != 0 {
		t.Fatalf("%d messages overheard", n)
	}
}

func TestSecretFiles(t *testing.T) {
	open := write(t, "open", "s3cret")
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"), "readable by others": open, "empty": write(t, "empty", "\n"),
		"two lines": write(t, "two", "a\nb\n"), "folder": t.TempDir(),
		"huge": write(t, "huge", strings.Repeat("x", 1<<13)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), TokenFile: path})
			if err == nil || !strings.Contains(err.Error(), "token_file") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("server: %v", err)
			}
			_, err = natsbus.Open(newContext(t), natsbus.Config{
				URL: "nats://127.0.0.1:1", TokenFile: path, Plan: plan,
			})
			if err == nil || !strings.Contains(err.Error(), "token_file") {
				t.Errorf("client: %v", err)
			}
			_, err = natsbus.Open(newContext(t), natsbus.Config{
				URL: "nats://127.0.0.1:1", User: "u", PasswordFile: path, Plan: plan,
			})
			if err == nil || !strings.Contains(err.Error(), "password_file") {
				t.Errorf("client: %v", err)
			}
		})
	}
	_, err := natsbus.Open(newContext(t), natsbus.Config{
		URL: "nats://127.0.0.1:1", CredentialsFile: "none", Plan: plan,
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("credentials: %v", err)
	}
}

func TestNewTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := natsbus.NewTokenFile(path, strings.NewReader(strings.Repeat("\x01", 32))); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != strings.Repeat("01", 32)+"\n" {
		t.Fatalf("%q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	err = natsbus.NewTokenFile(path, strings.NewReader(strings.Repeat("\x02", 32)))
	if !errors.Is(err, fs.ErrExist) {
		t.Fatalf("overwriting: %v", err)
	}
	if err := natsbus.NewTokenFile(path+"2", strings.NewReader("short")); err == nil {
		t.Fatal("a short read of randomness must be an error")
	}
	if _, err := os.Stat(path + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a failure leaves a file")
	}
}

func TestServerPrintsNoSecret(t *testing.T) {
	server := startServer(t, embedded.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: write(t, "token", "s3cret"),
	})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(verb, server) + fmt.Sprintf(verb, natsbus.Config{Server: server})
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s prints %s", verb, text)
		}
		if verb == "%v" && !strings.Contains(text, server.ClientURL()) {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func TestSharedAddressRefused(t *testing.T) {
	first := startServer(t, embedded.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: write(t, "token", "s3cret"),
	})
	begun := time.Now()
	_, err := embedded.Start(embedded.Config{
		StoreDir: t.TempDir(), TokenFile: write(t, "token", "s3cret"),
		Listen: strings.TrimPrefix(first.ClientURL(), "nats://"),
	})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Fatalf("error %v after %v", err, time.Since(begun))
	}
}
