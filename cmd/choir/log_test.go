//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogWithoutReader: what reads the logs of a broker and of members has ended, and the session goes on
// to its end.
func TestLogWithoutReader(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trial")
	if out, err := exec.Command(binary(t), "init", dir, "--rounds", "2", "--parties", "2",
		"--nodes", "2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	start := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		cmd.Dir, cmd.Stderr = dir, w
		return cmd
	}
	broker := start("broker", "--listen", "127.0.0.1:0", "--store", "streams", "--token-file", "broker/token")
	out, err := broker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]*exec.Cmd{}
	for name, role := range map[string]string{"party-01": "party", "party-02": "party", "compute-01": "compute",
		"compute-02": "compute", "aggregator": "aggregator"} {
		cmd := start(role, "--config", filepath.Join("sites", name, "site.toml"))
		cmd.Env = append(os.Environ(), "CHOIR_BUS_URL="+strings.TrimSpace(url))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		members[name] = cmd
	}
	for name, cmd := range members {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := broker.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := broker.Wait(); err != nil {
		t.Errorf("the broker: %v", err)
	}
}
