//go:build linux && nightly

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests need root: they make network namespaces and small file systems, and remove them.
// make nightly runs them, or prints NOT RUN.

// ip runs a command of the ip program.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// sites makes three network namespaces with an address each, joined by a bridge in a fourth.
// Where the kernel can, a packet takes 20 ms and 1 % are lost.
func sites(t *testing.T) (spaces, hosts [3]string) {
	t.Helper()
	base := fmt.Sprintf("choir%d-", os.Getpid())
	hub := base + "hub"
	ip(t, "netns", "add", hub)
	t.Cleanup(func() { ip(t, "netns", "del", hub) })
	ip(t, "-n", hub, "link", "add", "br0", "type", "bridge")
	ip(t, "-n", hub, "link", "set", "br0", "up")
	for i := range spaces {
		name := fmt.Sprintf("%s%d", base, i+1)
		spaces[i] = name
		hosts[i] = fmt.Sprintf("10.77.0.%d", i+1)
		ip(t, "netns", "add", name)
		t.Cleanup(func() { ip(t, "netns", "del", name) })
		port := fmt.Sprintf("port%d", i+1)
		ip(t, "-n", hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
		ip(t, "-n", hub, "link", "set", port, "master", "br0", "up")
		ip(t, "-n", name, "address", "add", hosts[i]+"/24", "dev", "eth0")
		ip(t, "-n", name, "link", "set", "lo", "up")
		ip(t, "-n", name, "link", "set", "eth0", "up")
		out, err := exec.Command("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root", "netem",
			"delay", "20ms", "5ms", "loss", "1%").CombinedOutput()
		if err != nil && i == 0 {
			fmt.Printf("NOT RUN: latency and loss: the kernel has no netem: %s\n", strings.TrimSpace(string(out)))
		}
	}
	return spaces, hosts
}

// within dials from a network namespace.
type within string

// Dial implements nats.CustomDialer.
func (w within) Dial(network, address string) (net.Conn, error) {
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	there, err := os.Open(filepath.Join("/run/netns", string(w)))
	if err != nil {
		return nil, err
	}
	defer there.Close()
	runtime.LockOSThread()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		return nil, back // the thread stays locked, so that no other goroutine runs in the namespace
	}
	runtime.UnlockOSThread()
	return conn, err
}

// tmpfs mounts a small file system on a folder.
func tmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("choir", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

// fill writes a file until the disk is full.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// hoursAhead builds the program with a clock that is three hours ahead.
func hoursAhead(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src/time/time.go")
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const clock = "sec, nsec, mono := runtimeNow()"
	if !strings.Contains(string(b), clock) {
		t.Fatalf("%s has no %q", source, clock)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "time.go")
	text := strings.ReplaceAll(string(b), clock, clock+"\n\tsec += 3 * 3600")
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "choir-ahead")
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// TestNightlySites: three sites in network namespaces run a session of a thousand rounds while
// every server and every member is killed, every site is cut off, and disks fill up; one party's
// clock is three hours ahead.
func TestNightlySites(t *testing.T) {
	const rounds = 1000
	spaces, hosts := sites(t)
	c := newCluster(t, hosts, "127.0.0.1", rounds)
	c.spaces, c.dialer = spaces, within(spaces[0])
	c.late, c.ahead = "party-02", hoursAhead(t)
	full := c.path("streams", "nats-3")
	tmpfs(t, full, "400m")
	store := c.path("trial", "sites", "party-01")
	roomy(t, store)
	t.Cleanup(c.stop) // before the file systems go
	started := time.Now()
	c.up()
	c.untilRound(5)
	n := 0
	fault := func(what string, do func()) {
		n++
		c.fault(rounds, what, do)
	}
	for range 2 {
		c.killLeader(fault)
	}
	for _, u := range users {
		fault("kill -9 of "+u.member, func() {
			c.kill(u.member)
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			c.startMember(u.member)
		})
	}
	fault("kill -9 of the leaf node", func() {
		c.kill("leaf")
		c.start("leaf", 2, c.server, "-c", c.path("leaf.conf"))
	})
	for i, space := range spaces {
		fault(fmt.Sprintf("site %d cut off for 15 s", i+1), func() {
			ip(t, "-n", space, "link", "set", "eth0", "down")
			time.Sleep(15 * time.Second)
			ip(t, "-n", space, "link", "set", "eth0", "up")
		})
	}
	fault("disk of nats-3 full for 10 s", func() {
		free := fill(t, full)
		time.Sleep(10 * time.Second)
		free()
		c.kill("nats-3")
		c.startServer(2)
	})
	fault("disk of party-01 full", func() {
		free := fill(t, store)
		c.until("party-01's word that its disk is full", func() bool { return c.logged("party-01", "disk-full") })
		free()
		c.until("party-01's word that there is room", func() bool { return c.logged("party-01", "disk-room") })
	})
	c.untilRound(rounds)
	c.ended()
	fmt.Printf("%d rounds with %d faults in %.0f s\n", rounds, n, time.Since(started).Seconds())
}

// roomy moves a site's folder to a file system of its own.
func roomy(t *testing.T, dir string) {
	t.Helper()
	aside := dir + ".aside"
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	tmpfs(t, dir, "48m")
	if out, err := exec.Command("cp", "-a", aside+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

// logged reports whether a process has logged an event.
func (c *cluster) logged(name, event string) bool {
	b, err := os.ReadFile(c.procs[name].log)
	return err == nil && strings.Contains(string(b), fmt.Sprintf("\"event\":%q", event))
}

// TestNightlyFullBroker: when the disk of the embedded broker is full, it and the members say so, and when
// there is room they go on by themselves.
func TestNightlyFullBroker(t *testing.T) {
	trial := filepath.Join(t.TempDir(), "trial")
	if out, err := exec.Command(binary(t), "init", trial, "--parties", "2", "--nodes", "2", "--rounds",
		"200").CombinedOutput(); err != nil {
		t.Fatalf("init: %v: %s", err, out)
	}
	tmpfs(t, filepath.Join(trial, "broker", "streams"), "1500k")
	run := exec.Command(filepath.Join(trial, "run.sh"))
	run.Env = append(os.Environ(), "CHOIR="+binary(t))
	var out strings.Builder
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	await := func(file, event string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			b, err := os.ReadFile(filepath.Join(trial, file))
			if err == nil && strings.Contains(string(b), fmt.Sprintf("\"event\":%q", event)) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s never logged %s: %v\n%s", file, event, err, b)
			}
		}
	}
	await("broker/log", "full")
	await("sites/aggregator/log", "broker-full")
	streams := filepath.Join(trial, "broker", "streams")
	if err := unix.Mount("choir", streams, "tmpfs", unix.MS_REMOUNT, "size=400m"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	await("broker/log", "room")
	await("sites/aggregator/log", "broker-room")
	fmt.Printf("full broker: it stores again %.0f s after there is room\n", time.Since(begun).Seconds())
	if err := run.Wait(); err != nil {
		t.Fatalf("run.sh: %v: %s", err, out.String())
	}
}

// TestNightlyHostileProgram: a party whose program hangs, floods, answers garbage, leaves children
// behind or fails doesn't stop a session, and nothing of it is left.
func TestNightlyHostileProgram(t *testing.T) {
	dir := t.TempDir()
	trial := filepath.Join(dir, "trial")
	mark := fmt.Sprintf("77%d", os.Getpid())
	choir := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(binary(t), args...).CombinedOutput(); err != nil {
			t.Fatalf("choir %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	data, schema := smallData(t, dir)
	plan := filepath.Join(dir, "plan.toml")
	text := fmt.Sprintf("name = \"hostile\"\nlifetime = \"24h\"\nrounds = 10\ndeadline = \"20s\"\n[privacy]\n"+
		"epsilon = 4\ndelta = 1e-5\n[learning]\nschema_file = %q\nshards = 2\ncentre_rounds = 0\n", schema)
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	choir("init", trial, "--config", plan, "--schema", schema, "--nodes", "2", "--data", data, "--data", data)
	program := filepath.Join(dir, "hostile.sh")
	script := "#!/bin/sh\ncase $(( $(date +%N | cut -c1-6 | sed 's/^0*//;s/^$/0/') % 5 )) in\n" +
		"0) sleep " + mark + " ;;\n" +
		"1) while :; do echo garbage-garbage-garbage-garbage-garbage; done ;;\n" +
		"2) echo garbage; exit 0 ;;\n" +
		"3) for i in 1 2 3 4 5 6 7 8 9 10; do sleep " + mark + " & done; sleep " + mark + " ;;\n" +
		"*) exit 3 ;;\nesac\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(trial, "sites", "party-01", "site.toml")
	b, err := os.ReadFile(site)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(b), "[bus]", fmt.Sprintf("exec = %q\n\n[bus]", program), 1)
	changed += "exec = \"1s\"\n" // of [timing], the last section
	if err := os.WriteFile(site, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(trial, "run.sh"))
	run.Env = append(os.Environ(), "CHOIR="+binary(t))
	started := time.Now()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("run.sh: %v: %s", err, out)
	}
	choir("verify", filepath.Join(trial, "result"))
	log, err := os.ReadFile(filepath.Join(trial, "sites", "party-01", "log"))
	if n := strings.Count(string(log), `"event":"program"`); err != nil || n < 10 {
		t.Errorf("the program's failures are logged %d times in 10 rounds: %v", n, err)
	}
	if out, err := exec.Command("pgrep", "-f", "sleep "+mark).CombinedOutput(); err == nil {
		t.Errorf("processes of the program are left: %s", out)
	}
	fmt.Printf("hostile program: 10 rounds in %.0f s\n", time.Since(started).Seconds())
}

// fault does something to the cluster and prints how long three more rounds take.
func (c *cluster) fault(rounds int, what string, do func()) {
	before, began := c.settled(), time.Now()
	do()
	c.untilRound(min(rounds, before+3))
	fmt.Printf("%-42s round %4d, three rounds later after %5.1f s\n", what, before, time.Since(began).Seconds())
}

// killLeader kills the server that leads the stream, as a fault, and starts it again two rounds later.
func (c *cluster) killLeader(fault func(what string, do func())) {
	leader := c.leader()
	fault(fmt.Sprintf("kill -9 of the stream's leader, nats-%d", leader+1), func() {
		c.kill(fmt.Sprintf("nats-%d", leader+1))
		c.untilRound(c.settled() + 2)
		c.startServer(leader)
	})
}
