//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"syscall"
)

// trustedOwner reports whether a file belongs to root or to the process's user.
func trustedOwner(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int64(s.Uid) == int64(os.Geteuid()))
}
