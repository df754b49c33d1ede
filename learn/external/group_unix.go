//go:build unix && !linux

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the program in a new process group, so that its children are killed with
// it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
