package external

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the program in a new process group, so that its children are killed with it, and
// lets the kernel kill it when the thread that starts it ends: a killed member leaves no program
// with its data.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
