package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

func config(t *testing.T, p ...Process) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Executable: exe, Processes: p, Table: filepath.Join(t.TempDir(), "processes.json"),
		Backoff: time.Millisecond}
}

func proc(name string, args ...string) Process {
	return Process{Name: name, Role: "test", Args: append([]string{"child"}, args...)}
}

func readTable(t *testing.T, path string) Table {
	t.Helper()
	var table Table
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// TestRestartsUntilDone: a process that fails three times and then succeeds is
// done; a service is stopped when everything else is.
func TestRestartsUntilDone(t *testing.T) {
	service := proc("service", "stdin")
	service.Service = true
	c := config(t, service, proc("a", "count", filepath.Join(t.TempDir(), "lives"), "4"), proc("b", "exit", "0"))
	var restarts []string
	c.Restart = func(name, how string) { restarts = append(restarts, name+" "+how) }
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(restarts) != 3 || restarts[0] != "a ended with exit code 1" {
		t.Errorf("restarts: %q", restarts)
	}
	rows := readTable(t, c.Table).Processes
	if rows[1].Restarts != 3 || rows[1].State != Done || rows[2].Restarts != 0 || rows[2].State != Done ||
		rows[0].State == Running {
		t.Errorf("table: %+v", rows)
	}
}

// TestFatal: a fatal exit code ends everything; the error has the last line of the
// process.
func TestFatal(t *testing.T) {
	c := config(t, proc("waits", "stdin"), proc("broken", "exit", "7"))
	c.Fatal = func(code int) bool { return code == 7 }
	var mu sync.Mutex
	lines := map[string]int{}
	c.Line = func(name string, _ []byte) {
		mu.Lock()
		defer mu.Unlock()
		lines[name]++
	}
	var f *Failure
	if err := Run(t.Context(), c); !errors.As(err, &f) || f.Name != "broken" || f.Code != 7 ||
		f.Last != "leaving with 7" {
		t.Errorf("Run: %v", err)
	}
	if lines["broken"] != 1 {
		t.Errorf("lines: %v", lines)
	}
}

// TestGivesUp: failures are bounded.
func TestGivesUp(t *testing.T) {
	c := config(t, proc("broken", "exit", "1"))
	c.MaxFailures = 3
	var f *Failure
	if err := Run(t.Context(), c); !errors.As(err, &f) || f.Code != 1 {
		t.Fatalf("Run: %v", err)
	}
	if rows := readTable(t, c.Table).Processes; rows[0].Restarts != 2 {
		t.Errorf("started %d times, want 3", rows[0].Restarts+1)
	}
}

// TestAgain: a process that is done repeats itself while another isn't.
func TestAgain(t *testing.T) {
	repeats := proc("repeats", "exit", "0")
	repeats.Again = time.Millisecond
	path := filepath.Join(t.TempDir(), "lives")
	slow := proc("slow", "count", path, "5")
	c := config(t, repeats, slow)
	c.Backoff = 20 * time.Millisecond
	var mu sync.Mutex
	lives := 0
	c.Line = func(name string, _ []byte) {
		mu.Lock()
		defer mu.Unlock()
		if name == "repeats" {
			lives++
		}
	}
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if lives < 2 {
		t.Errorf("the process that was done ran %d times", lives)
	}
}

// TestKilled: a child that is killed is started again under another process id.
func TestKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := config(t, proc("waits", "stdin"))
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c) }()
	first := await(t, c.Table, func(r Row) bool { return r.State == Running })
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := await(t, c.Table, func(r Row) bool { return r.State == Running && r.PID != first.PID })
	if second.Restarts != 1 {
		t.Errorf("restarts: %d", second.Restarts)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if alive(second.PID) {
		t.Error("the child outlived Run")
	}
}

// TestParentKilled: children stop when their supervisor is killed.
func TestParentKilled(t *testing.T) {
	c := config(t, proc("unused", "exit", "0"))
	parent := exec.Command(c.Executable, "child", "parent", c.Table)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	row := await(t, c.Table, func(r Row) bool { return r.State == Running })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	for range 12000 { // two minutes, far beyond what a busy machine needs
		if !alive(row.PID) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child outlived its killed supervisor")
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func await(t *testing.T, table string, ok func(Row) bool) Row {
	t.Helper()
	for range 12000 { // two minutes, far beyond what a busy machine needs
		var v Table
		if b, err := os.ReadFile(table); err == nil && json.Unmarshal(b, &v) == nil && len(v.Processes) == 1 &&
			ok(v.Processes[0]) {
			return v.Processes[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the table never said so")
	return Row{}
}

func TestValidate(t *testing.T) {
	service := proc("s", "stdin")
	service.Service = true
	for _, c := range []struct {
		name   string
		config Config
	}{
		{name: "empty", config: Config{}},
		{name: "no processes", config: Config{Executable: "x"}},
		{name: "only services", config: Config{Executable: "x", Processes: []Process{service}}},
		{name: "same name", config: Config{Executable: "x", Processes: []Process{proc("a"), proc("a")}}},
		{name: "no name", config: Config{Executable: "x", Processes: []Process{proc("")}}},
		{name: "negative bound", config: Config{Executable: "x", Processes: []Process{proc("a")}, MaxFailures: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Run(t.Context(), c.config); err == nil {
				t.Error("accepted")
			}
		})
	}
}
