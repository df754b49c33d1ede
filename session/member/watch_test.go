package member_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/host/status"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/transport/natsbus/embedded"
)

// TestMemberIsWatched: a party with a station shows that it waits while nobody else is
// there, and the figures stop with it when the session is over.
func TestMemberIsWatched(t *testing.T) {
	dir, config := site.Deploy(t, time.Now())
	rig.WriteFile(t, dir, "token", "s3cret\n")
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0",
		TokenFile: filepath.Join(dir, "token")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	out, in := io.Pipe()
	done := map[string]chan error{}
	start := func(name string, role protocol.Role, log io.Writer) {
		c := config(name)
		c.Bus = member.BusConfig{URL: server.ClientURL(), TokenFile: filepath.Join(dir, "token")}
		if role == protocol.RoleAggregator {
			c.OutDir = filepath.Join(dir, "out")
		}
		if name == "party-a" {
			c.Station.Listen = "127.0.0.1:0"
		}
		m, err := member.Open(c, role, slog.New(slog.NewJSONHandler(log, nil)), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		done[name] = ended
		go func() { ended <- m.Run(t.Context()) }()
	}
	start("party-a", protocol.RoleParty, in)
	url := "http://" + address(t, out)
	if v := statusOf(t, url); v.Member != "party-a" || v.State != "joining" || v.Expected != 2 || v.Rounds != 1 {
		t.Errorf("while it waits: %+v", v)
	}
	for name, role := range map[string]protocol.Role{"party-b": protocol.RoleParty,
		"node-a": protocol.RoleCompute, "node-b": protocol.RoleCompute, "agg": protocol.RoleAggregator} {
		start(name, role, io.Discard)
	}
	for name, c := range done {
		t.Run(name, func(t *testing.T) {
			if err := <-c; err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	if r, err := http.Get(url + "/status"); err == nil {
		_ = r.Body.Close()
		t.Error("it is still served after the end")
	}
}

// address is where a member says that it can be watched. What follows in its log is read
// and dropped.
func address(t *testing.T, log io.Reader) string {
	t.Helper()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Event, Address string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Event == "watchable" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return line.Address
		}
	}
	t.Fatal("no line says where it can be watched")
	return ""
}

func statusOf(t *testing.T, url string) (v status.Status) {
	t.Helper()
	r, err := http.Get(url + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestStationAddressIsChecked before anything is connected.
func TestStationAddressIsChecked(t *testing.T) {
	_, config := site.Deploy(t, time.Now())
	for _, bad := range []string{"nonsense", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "[::1"} {
		c := config("party-a")
		c.Station.Listen = bad
		if err := c.Validate(protocol.RoleParty); protocol.ClassOf(err) != protocol.ClassInput ||
			!strings.Contains(err.Error(), "station.listen") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	c := config("party-a")
	c.Station.Listen = ":9464"
	if err := c.Validate(protocol.RoleParty); err != nil {
		t.Error(err)
	}
}
