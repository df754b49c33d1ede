//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the program a process group of its own, so that what it starts is
// killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
