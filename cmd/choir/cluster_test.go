//go:build linux

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/terms"
)

// cluster is three servers of the ordinary NATS, from the module's own program and the
// configurations in examples/deploy/nats: with accounts, TLS and, at a third site, a leaf node.
// The members are processes of the real binary.
type cluster struct {
	t      *testing.T
	dir    string
	server string    // the program
	hosts  [3]string // addresses of the servers
	far    [3]string // at which others reach them: the same, or those of links
	leaf   string    // address of the leaf node
	spaces [3]string // network namespace of each site; "" is this process's
	procs  map[string]*process
	dialer nats.CustomDialer // for this process; nil: from its own namespace
	late   string            // a member whose program has its clock hours ahead
	ahead  string            // that program
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	short  string // of the plan
	rounds int
}

// process is a running program, with its output in a file.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// natsServer builds the ordinary server once.
var natsServer = sync.OnceValues(func() (string, error) {
	if _, err := built(); err != nil {
		return "", err
	}
	path := filepath.Join(builtDir, "nats-server")
	out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// newCluster writes certificates and configurations for addresses, and a trial consortium.
// far are the addresses of links to the servers, if there are links.
func newCluster(t *testing.T, hosts [3]string, leaf string, rounds int, far ...string) *cluster {
	t.Helper()
	server, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: t.TempDir(), server: server, hosts: hosts, leaf: leaf, procs: map[string]*process{},
		rounds: rounds, far: hosts}
	copy(c.far[:], far)
	t.Cleanup(c.stop)
	c.certificates()
	c.configurations()
	c.consortium()
	return c
}

// loopback are addresses that no other test uses: the whole of 127.0.0.0/8 is this machine.
func loopback(t *testing.T) (hosts [3]string, leaf string) {
	t.Helper()
	b := make([]byte, 2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.%d.%d.%d", 1+b[0]%250, b[1], i) }
	return [3]string{at(1), at(2), at(3)}, at(4)
}

func (c *cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

func (c *cluster) write(name, text string) string {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return c.path(name)
}

// consortium makes keys and a signed plan, and has every member's file name the cluster.
func (c *cluster) consortium() {
	c.t.Helper()
	c.choir("init", c.path("trial"), "--parties", "3", "--nodes", "2", "--rounds", fmt.Sprint(c.rounds))
	sp, err := terms.ReadPlan(c.path("trial", "plan.choir"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.short = protocol.Bind(sp.Plan).ID.Short()
	for _, u := range users {
		urls := []string{}
		for _, host := range c.far {
			urls = append(urls, "tls://"+host+":4222")
		}
		section := fmt.Sprintf("[bus]\nurl = %q\nuser = %q\npassword_file = %q\ntls_ca = %q\n",
			strings.Join(urls, ","), u.user, c.write(u.user+".pw", password(u.user)), c.path("ca.pem"))
		switch u.user {
		case "hub":
			section += "replicas = 3\n"
		case "hospital-c": // over its leaf node, on the same machine, which is in its account
			section = fmt.Sprintf("[bus]\nurl = %q\napi_prefix = \"hub.JS.API\"\n", "nats://"+c.leaf+":4222")
		default:
			section += "api_prefix = \"hub.JS.API\"\n"
		}
		c.connect(c.path("trial", "sites", u.member, "site.toml"), section)
	}
}

var busSection = regexp.MustCompile(`(?s)\[bus\].*?\[timing\]`)

// connect puts a section for the bus into a member's file.
func (c *cluster) connect(file, section string) {
	c.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	text := busSection.ReplaceAllLiteralString(string(b), section+"\n[timing]")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// choir runs the binary to its end.
func (c *cluster) choir(args ...string) string {
	c.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(binary(c.t), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("choir %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// start starts a program at a site, in the place of an earlier process of that name.
func (c *cluster) start(name string, site int, program string, args ...string) *process {
	c.t.Helper()
	if c.spaces[site] != "" {
		args = append([]string{"netns", "exec", c.spaces[site], program}, args...)
		program = "ip"
	}
	p := &process{cmd: exec.Command(program, args...), log: c.path(name + ".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	p.cmd.Stdout = log
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state is read from cmd
		log.Close()
		close(p.done)
	}()
	c.procs[name] = p
	return p
}

func (c *cluster) startServer(i int) {
	c.start(fmt.Sprintf("nats-%d", i+1), i, c.server, "-c", c.path(fmt.Sprintf("server-%d.conf", i+1)))
}

func (c *cluster) startMember(name string) {
	for _, u := range users {
		if u.member == name {
			program := binary(c.t)
			if name == c.late {
				program = c.ahead
			}
			c.start(name, u.site, program, u.role, "--config", c.path("trial", "sites", name, "site.toml"))
		}
	}
}

// up starts servers, the leaf node and all members.
func (c *cluster) up() {
	for i := range c.hosts {
		c.startServer(i)
	}
	c.start("leaf", 2, c.server, "-c", c.path("leaf.conf"))
	for _, u := range users {
		c.startMember(u.member)
	}
}

// kill ends a process with SIGKILL.
func (c *cluster) kill(name string) {
	c.t.Helper()
	p := c.procs[name]
	if err := p.cmd.Process.Kill(); err != nil && p.running() {
		c.t.Fatal(err)
	}
	<-p.done
}

func (c *cluster) stop() {
	for _, p := range c.procs {
		_ = p.cmd.Process.Kill() // an error means that it has ended
	}
	for _, p := range c.procs {
		<-p.done
	}
	if c.t.Failed() {
		for name, p := range c.procs {
			if b, err := os.ReadFile(p.log); err == nil {
				c.t.Logf("%s:\n%s", name, b[max(0, len(b)-2000):])
			}
		}
	}
}

// settled is the last round of which the aggregator has logged a result.
func (c *cluster) settled() int {
	b, err := os.ReadFile(c.path("aggregator.log"))
	if err != nil {
		return 0
	}
	last := 0
	for line := range bytes.Lines(b) {
		var e struct {
			Event string `json:"event"`
			Round int    `json:"round"`
		}
		if json.Unmarshal(line, &e) == nil && e.Event == "result" {
			last = max(last, e.Round)
		}
	}
	return last
}

// until waits for a condition, as long as rounds settle.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	end := time.Now().Add(patience)
	for last := c.settled(); !ok(); time.Sleep(20 * time.Millisecond) {
		if now := c.settled(); now > last {
			last, end = now, time.Now().Add(patience)
		}
		if time.Now().After(end) {
			c.t.Fatalf("waited %v for %s; round %d is settled", patience, what, c.settled())
		}
	}
}

func (c *cluster) untilRound(round int) {
	c.t.Helper()
	c.until(fmt.Sprintf("round %d", round), func() bool { return c.settled() >= round })
}

// leader is the number of the server that leads the plan's stream, by the cluster's own word.
func (c *cluster) leader() int {
	c.t.Helper()
	leads := -1
	c.until("a leader of the stream", func() bool {
		info, err := c.stream()
		if err != nil || info.Cluster == nil || info.Config.Replicas != 3 {
			return false
		}
		for i := range c.hosts {
			if info.Cluster.Leader == fmt.Sprintf("nats-%d", i+1) {
				leads = i
			}
		}
		return leads >= 0
	})
	return leads
}

// stream asks the cluster about the plan's stream, as the hub.
func (c *cluster) stream() (*nats.StreamInfo, error) {
	urls := make([]string, len(c.hosts))
	for i, host := range c.hosts {
		urls[i] = "tls://" + host + ":4222"
	}
	options := []nats.Option{nats.UserInfo("hub", password("hub")), nats.RootCAs(c.path("ca.pem")),
		nats.Timeout(5 * time.Second)}
	if c.dialer != nil {
		options = append(options, nats.SetCustomDialer(c.dialer))
	}
	conn, err := nats.Connect(strings.Join(urls, ","), options...)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err != nil {
		return nil, err
	}
	return js.StreamInfo("CHOIR_" + c.short)
}

// ended waits for all members and checks that the session completed, verifies, and charged every
// round at every party once an attempt.
func (c *cluster) ended() {
	c.t.Helper()
	for _, u := range users {
		p := c.procs[u.member]
		c.until("the end of "+u.member, func() bool { return !p.running() })
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			c.t.Errorf("%s ended with code %d", u.member, code)
		}
	}
	out := c.choir("verify", c.path("trial", "result"))
	if !strings.Contains(out, fmt.Sprintf("completed, %d rounds", c.rounds)) {
		c.t.Errorf("verify: %s", out)
	}
	a := &aftermath{t: c.t}
	for _, u := range users[:3] {
		charged := map[string]bool{}
		stored := a.ledger(c.path("trial", "sites", u.member, "store.db"))
		for _, b := range stored {
			var e ledger.Entry
			if err := e.Unmarshal(b); err != nil {
				c.t.Fatal(err)
			}
			charged[fmt.Sprintf("%d/%d", e.Charge.Round, e.Charge.Attempt)] = true
		}
		if len(charged) != len(stored) || len(stored) < c.rounds {
			c.t.Errorf("%s: %d charges, %d different ones, for %d rounds", u.member, len(stored), len(charged),
				c.rounds)
		}
	}
}

// TestCluster: members in accounts of their own, one of them over a leaf node, go on over a
// cluster of three servers whose stream has three copies when the server that leads it is killed. They
// exchange their cards through the same accounts.
func TestCluster(t *testing.T) {
	t.Parallel()
	hosts, leaf := loopback(t)
	c := newCluster(t, hosts, leaf, 50)
	c.up()
	c.untilRound(5)
	killed := c.leader()
	c.kill(fmt.Sprintf("nats-%d", killed+1))
	c.untilRound(c.settled() + 3)
	if now := c.leader(); now == killed {
		t.Error("the killed server still leads the stream")
	}
	c.startServer(killed)
	c.rooms()
	c.ended()
}

// rooms lets members exchange their cards in a room at the broker. The hub makes its stream. A server that
// was away answers for a moment without the last card: then a member joins again.
func (c *cluster) rooms() {
	c.t.Helper()
	join := func(name string) {
		c.choir("join", c.path("room", name), "--room", "study", "--config",
			c.path("trial", "sites", name, "site.toml"))
	}
	all := []string{"aggregator", "party-01", "party-03"}
	for _, name := range all {
		join(name)
	}
	for _, name := range all[:2] {
		err := errors.New("not joined")
		for tries := 0; tries < 5 && err != nil; tries++ {
			join(name)
			err = nil
			for _, other := range all {
				_, missing := os.Stat(c.path("room", name, "cards", other+".card"))
				err = errors.Join(err, missing)
			}
		}
		if err != nil {
			c.t.Errorf("the room of %s: %v", name, err)
		}
	}
}
