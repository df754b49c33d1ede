// Package secretfile tells whether a file with a secret is open to others than its owner.
//
// Only its owner may read or write such a file, with one exception: systemd hands a service the credentials
// of its unit (LoadCredential=) as files that belong to root and which an access control list lets the
// service's user read. Their mode then shows that their group may read them, 0440, for the list's mask is in
// the place of the group's permissions.
package secretfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// trusted is trustedOwner; tests replace it.
var trusted = trustedOwner

// directoryVariable names the environment variable with the folder of a service's credentials.
const directoryVariable = "CREDENTIALS_DIRECTORY"

// Open reports whether others than its owner may read or write the file at a path. info is that of the open
// file, so that what is reported is about the file that is read. On Windows it is never true, for the mode
// does not show who may read a file.
func Open(path string, info fs.FileInfo) bool {
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return false
	}
	return !isCredential(path, info)
}

// isCredential reports whether a file is one of the service's credentials: a regular file, directly in the
// folder that CREDENTIALS_DIRECTORY names by an absolute path. Neither of them is a symbolic link, and both
// belong to root or to the process's user. The group may read the file and not write it; to others it is
// closed. Neither the group nor others may change the folder.
func isCredential(path string, info fs.FileInfo) bool {
	dir := os.Getenv(directoryVariable)
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) || filepath.Dir(path) != filepath.Clean(dir) {
		return false
	}
	folder, err := os.Lstat(filepath.Clean(dir))
	if err != nil || !folder.IsDir() || folder.Mode().Perm()&0o022 != 0 || !trusted(folder) {
		return false
	}
	entry, err := os.Lstat(filepath.Join(dir, filepath.Base(path)))
	if err != nil || !entry.Mode().IsRegular() || !os.SameFile(entry, info) {
		return false
	}
	return info.Mode().IsRegular() && info.Mode().Perm()&0o037 == 0 && trusted(info)
}
