//go:build unix

package host_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"choir/host"
)

// holdVariable names a store that the test's own program is to work with until it is killed.
const holdVariable = "CHOIR_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVariable); path != "" {
		if _, err := host.Hold(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestHold: one process works with a store. The error of another names it, and after it was killed the store
// is free, whatever the file of the lock has.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "member.db")
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), holdVariable+"="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := host.Hold(path); !errors.Is(err, host.ErrLocked) ||
			!strings.Contains(err.Error(), fmt.Sprintf("pid %d", cmd.Process.Pid)) {
			t.Errorf("%v, want %v with process %d", err, host.ErrLocked, cmd.Process.Pid)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
	}
	release, err := host.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = host.Hold(path); err != nil {
		t.Fatal("not released:", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}
