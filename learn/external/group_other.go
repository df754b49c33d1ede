//go:build !unix

package external

import "os/exec"

// ownGroup does nothing where there are no process groups: the program is killed by
// itself.
func ownGroup(*exec.Cmd) {}
