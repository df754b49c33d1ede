//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// siteOf is the folder of a consortium whose members are processes.
type siteOf struct {
	t    *testing.T
	dir  string
	exe  string
	url  string
	logs map[string]string // by member
}

const members = "hospital-a hospital-b hospital-c node-x node-y coordinator"

// TestNodeIsDestroyed: a compute node's machine is destroyed in the middle of a session of processes
// over a broker. The commands of docs/operating.md make the successor plan, under which another node
// takes its place; the session ends, the chain verifies, the ledgers are right, and nothing that was
// sent under the first plan is sent again.
func TestNodeIsDestroyed(t *testing.T) {
	s := &siteOf{t: t, dir: t.TempDir(), exe: binary(t), logs: map[string]string{}}
	hospitals(t, s.dir)
	s.write("schema.toml", strings.Replace(guideSchema, `missing = "drop"`, `missing = "zero"`, 1))
	s.write("pass", "words\n")
	broker := s.broker()
	for _, name := range strings.Fields(members + " node-z") {
		_, _, _, err := member.NewIdentity(s.dir, name, s.path("pass"), identity.Params{Time: 1, MemoryKiB: 8,
			Lanes: 1}, time.Now(), 100*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
	}
	s.write("plan.toml", "name = \"study\"\nlifetime = \"720h\"\nrounds = 60\n"+
		"parties = [\"hospital-a.card\", \"hospital-b.card\", \"hospital-c.card\"]\n"+
		"computes = [\"node-x.card\", \"node-y.card\"]\naggregator = \"coordinator.card\"\n"+
		"[privacy]\nepsilon = 4.0\ndelta = 1e-5\n[learning]\nschema_file = \"schema.toml\"\n")
	s.choir("plan", "new", "--config", "plan.toml", "--out", "plan.choir")
	for _, name := range strings.Fields(members) {
		s.choir("plan", "sign", "plan.choir", "--key", name+".key", "--passphrase-file", "pass")
	}
	first := s.start("plan.choir", "result", "", members)
	s.await("coordinator", `"event":"result"`, 4)
	y := first["node-y"]
	if err := y.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = y.Wait() // it was killed
	for _, file := range []string{"node-y.db", "node-y.db.values"} {
		if err := os.Remove(s.path(file)); err != nil {
			t.Fatal(err)
		}
	}
	for name, p := range first {
		if name != "node-y" {
			s.stop(name, p)
		}
	}
	s.documented()
	next := strings.ReplaceAll(members, "node-y", "node-z")
	for name, p := range s.start("signed-next.choir", "result-next", "result", next) {
		t.Run(name, func(t *testing.T) {
			if err := p.Wait(); err != nil {
				t.Errorf("%v\n%s", err, s.logs[name])
			}
		})
	}
	s.checkChain()
	s.stop("broker", broker)
	s.checkFresh("plan.choir", "signed-next.choir")
}

func (s *siteOf) path(name string) string { return filepath.Join(s.dir, name) }

func (s *siteOf) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// choir runs a verb to its end.
func (s *siteOf) choir(args ...string) []byte {
	s.t.Helper()
	cmd := exec.Command(s.exe, args...)
	cmd.Dir = s.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("choir %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out.Bytes()
}

// process starts a process whose standard error goes to a file.
func (s *siteOf) process(name string, args ...string) *exec.Cmd {
	s.t.Helper()
	log, err := os.OpenFile(s.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(s.exe, args...)
	cmd.Dir = s.dir
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	s.logs[name] = log.Name()
	return cmd
}

func (s *siteOf) broker() *exec.Cmd {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.url = "nats://" + address
	return s.process("broker", "broker", "--listen", address, "--store", "broker", "--token-file", "token")
}

// start starts the members of a plan.
func (s *siteOf) start(plan, out, origin, names string) map[string]*exec.Cmd {
	s.t.Helper()
	all := map[string]*exec.Cmd{}
	for _, name := range strings.Fields(names) {
		file := fmt.Sprintf("plan_file = %q\nkey_file = \"%s.key\"\npassphrase_file = \"pass\"\nstore_file = "+
			"\"%s.db\"\n", plan, name, name)
		verb := "compute"
		switch {
		case strings.HasPrefix(name, "hospital"):
			verb = "party"
			file += fmt.Sprintf("data_file = \"%s.csv\"\n", name)
		case name == "coordinator":
			verb = "aggregator"
			file += fmt.Sprintf("out_dir = %q\n", out)
		}
		if origin != "" && verb != "compute" {
			file += fmt.Sprintf("origin = %q\n", origin)
		}
		s.write(name+".toml", file+fmt.Sprintf("[bus]\nurl = %q\ntoken_file = \"token\"\n", s.url))
		all[name] = s.process(name, verb, "--config", name+".toml")
	}
	return all
}

// await waits until a member has logged something so often.
func (s *siteOf) await(name, text string, times int) {
	s.t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(s.logs[name])
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Count(string(b), text) >= times {
			return
		}
		if time.Since(begun) > patience {
			s.t.Fatalf("%s has not logged %s %d times:\n%s", name, text, times, b)
		}
	}
}

// stop stops a process by SIGTERM.
func (s *siteOf) stop(name string, p *exec.Cmd) {
	s.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(name, err)
	}
	_ = p.Wait() // its code says that it was stopped
}

// documented runs the commands and writes the file of docs/operating.md.
func (s *siteOf) documented() {
	s.t.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## 11 Successor plans\n")
	if !ok {
		s.t.Fatal("the page has no section on successor plans")
	}
	block := func(kind string) string {
		_, after, ok := strings.Cut(text, "\n```"+kind+"\n")
		body, _, closed := strings.Cut(after, "\n```\n")
		if !ok || !closed {
			s.t.Fatalf("the section has no block of %s", kind)
		}
		return body
	}
	s.write("next.toml", block("toml"))
	cmd := exec.Command("sh", "-e", "-c", block("sh"))
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(s.exe)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("the documented commands: %v\n%s", err, out)
	}
}

// checkChain checks the transcripts and the ledgers of the chain.
func (s *siteOf) checkChain() {
	t := s.t
	t.Helper()
	type verdict struct {
		Plan      string
		Rounds    int
		Completed bool
		Stopped   bool
		Epsilon   float64
		Attempts  []struct{}
		Before    *verdict
	}
	var v verdict
	if err := json.Unmarshal(s.choir("verify", "result-next", "--format", "json"), &v); err != nil {
		t.Fatal(err)
	}
	if v.Before == nil || !v.Completed || !v.Before.Stopped || v.Before.Rounds < 4 ||
		v.Rounds+v.Before.Rounds != 60 || v.Epsilon > 4 || v.Epsilon < 3.9 {
		t.Errorf("%+v after %+v", v, v.Before)
	}
	sp, err := terms.ReadPlan(s.path("signed-next.choir"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hospital-a", "hospital-b", "hospital-c"} {
		spent, err := member.ReadSpending(s.path(name+".db"), 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		once := map[string]bool{}
		for _, e := range spent.Entries {
			count[e.Plan]++
			once[fmt.Sprint(e.Plan, e.Round, e.Attempt)] = true
		}
		if count[v.Plan] != v.Rounds || count[v.Before.Plan] < v.Before.Rounds ||
			count[v.Before.Plan] > int(sp.Plan.After.Attempts) || len(once) != len(spent.Entries) ||
			!(spent.Epsilon > 0 && spent.Epsilon <= v.Epsilon*(1+1e-9)) {
			t.Errorf("%s: charges %v, epsilon %v", name, count, spent.Epsilon)
		}
	}
}

// checkFresh: no message of the second plan is one of the first.
func (s *siteOf) checkFresh(plans ...string) {
	t := s.t
	t.Helper()
	server, err := embedded.Start(embedded.Config{StoreDir: s.path("broker")})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	seen := map[[32]byte]int{}
	for i, plan := range plans {
		sp, err := terms.ReadPlan(s.path(plan))
		if err != nil {
			t.Fatal(err)
		}
		chunks := 0
		for _, data := range s.stream(server, sp.Plan.ID()) {
			h := sha256.Sum256(data)
			if in, ok := seen[h]; ok && in != i {
				t.Errorf("a message of plan %d is one of plan %d", i+1, in+1)
			}
			seen[h] = i
			if protocol.IsChunk(data) {
				chunks++
			}
		}
		if chunks < 20 {
			t.Errorf("plan %d: only %d chunks", i+1, chunks)
		}
	}
}

// stream reads everything that was sent under a plan.
func (s *siteOf) stream(server *embedded.Server, id protocol.PlanID) (all [][]byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	bus, err := natsbus.Open(ctx, natsbus.Config{Server: server, Plan: id.Short(), Name: "reader"})
	if err != nil {
		s.t.Fatal(err)
	}
	defer bus.Close()
	sub, err := bus.Subscribe(ctx, []string{"choir." + id.Short() + ".>"}, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	end := "choir." + id.Short() + ".end"
	if err := bus.Publish(ctx, transport.Message{Subject: end}); err != nil {
		s.t.Fatal(err)
	}
	for {
		m, err := sub.Next(ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		if m.Subject == end {
			return all
		}
		all = append(all, m.Data)
	}
}
