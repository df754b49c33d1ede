//go:build !linux

package supervise

import "syscall"

// dieWithParent does nothing: a child stops when its standard input closes.
func dieWithParent() *syscall.SysProcAttr { return nil }
