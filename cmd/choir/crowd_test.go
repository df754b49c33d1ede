//go:build linux && nightly

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// crowd is how many parties TestNightlyCrowd has.
const crowd = 300

// TestNightlyCrowd: hundreds of members, each a process with an account of its own, over one ordinary
// nats-server with TLS. All rounds count all parties, and the transcript verifies.
func TestNightlyCrowd(t *testing.T) {
	c := newCrowd(t)
	folders, err := os.ReadDir(c.path("trial", "sites"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	c.start("server", 0, c.server, "-c", c.path("server.conf"))
	c.startOf("aggregator") // it makes the stream
	for _, f := range folders {
		if f.Name() != "aggregator" {
			c.startOf(f.Name())
		}
	}
	fmt.Printf("crowd: %d members started in %.0f s\n", len(folders), time.Since(begun).Seconds())
	for _, f := range folders {
		<-c.procs[f.Name()].done
		if code := c.procs[f.Name()].cmd.ProcessState.ExitCode(); code != 0 {
			b, _ := os.ReadFile(c.procs[f.Name()].log)
			t.Fatalf("%s ended with code %d:\n%s", f.Name(), code, b)
		}
	}
	fmt.Printf("crowd: all ended after %.0f s\n", time.Since(begun).Seconds())
	if out := c.choir("verify", c.path("trial", "result")); !strings.Contains(out,
		fmt.Sprintf("with %d parties each", crowd)) {
		t.Errorf("%s", out)
	}
}

// newCrowd writes a trial whose members have accounts at one server, and the server's configuration.
func newCrowd(t *testing.T) *cluster {
	t.Helper()
	server, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: t.TempDir(), server: server, procs: map[string]*process{}}
	t.Cleanup(c.stop)
	c.hosts, _ = loopback(t)
	c.far = c.hosts
	c.certificates()
	c.choir("init", c.path("trial"), "--parties", fmt.Sprint(crowd), "--nodes", "3", "--rounds", "5")
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "deploy", "nats", "accounts.conf"))
	if err != nil {
		t.Fatal(err)
	}
	imports, rest, _ := strings.Cut(string(example), "accounts: {")
	hub, _, _ := strings.Cut(rest, "  HOSPITAL_A: {")
	hub = strings.NewReplacer(`"hub"`, `"aggregator"`, "REPLACE-hub", password("aggregator")).Replace(hub)
	conf := fmt.Sprintf("listen: %q\nmax_payload: 1MB\ntls { cert_file: %q\n key_file: %q }\njetstream { "+
		"store_dir: %q\n sync_interval: 1s }\n%saccounts: {%s", net.JoinHostPort(c.hosts[0], "4222"),
		c.path("nats-1.crt"), c.path("nats-1.key"), c.path("streams"), imports, hub)
	sites, err := filepath.Glob(c.path("trial", "sites", "*"))
	if err != nil || len(sites) != crowd+4 {
		t.Fatal(len(sites), err)
	}
	for i, site := range sites {
		name, prefix := filepath.Base(site), ""
		if name != "aggregator" {
			conf += fmt.Sprintf("  MEMBER_%d: {\n    users: [ { user: %q, password: %q } ]\n"+
				"    imports: $member_imports\n  }\n", i, name, password(name))
			prefix = "api_prefix = \"hub.JS.API\"\n"
		}
		c.connect(filepath.Join(site, "site.toml"), fmt.Sprintf("[bus]\nurl = %q\nuser = %q\n"+
			"password_file = %q\ntls_ca = %q\n%s", "tls://"+c.hosts[0]+":4222", name,
			c.write(name+".pw", password(name)), c.path("ca.pem"), prefix))
	}
	c.write("server.conf", conf+"}\n")
	return c
}

// startOf starts a member by its name in a trial.
func (c *cluster) startOf(name string) {
	role, _, _ := strings.Cut(name, "-")
	c.start(name, 0, binary(c.t), role, "--config", c.path("trial", "sites", name, "site.toml"))
}
