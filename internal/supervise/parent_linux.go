package supervise

import "syscall"

// dieWithParent makes the kernel kill a child when the thread that started it
// ends: a killed supervisor leaves no child.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
