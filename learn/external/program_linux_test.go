package external

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestKilledMemberLeavesNoProgram: a program that hangs ends when the member that runs it is killed.
func TestKilledMemberLeavesNoProgram(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe() // both have its other end as their standard error
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	member := exec.CommandContext(t.Context(), exe, "program", "member")
	member.Stderr = w
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var pid int
	if _, err := fmt.Fscanln(r, &pid); err != nil {
		t.Fatal(err)
	}
	if err := member.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := member.Wait(); err == nil {
		t.Error("the member ended by itself")
	}
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v, want the end of what both print", rest, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
