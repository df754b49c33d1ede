//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// credentials makes a folder of credentials with a file of mode 0440, as systemd does.
func credentials(t *testing.T) (dir, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "credentials")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file = secret(t, filepath.Join(dir, "passphrase"), 0o440)
	chmod(t, dir, 0o550)
	t.Cleanup(func() { chmod(t, dir, 0o700) })
	t.Setenv(directoryVariable, dir)
	return dir, file
}

func secret(t *testing.T, path string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func isOpen(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return Open(path, info)
}

// TestModes: outside the folder of credentials a secret is its owner's alone, and inside its group may read
// it, and no more.
func TestModes(t *testing.T) {
	_, file := credentials(t)
	outside := secret(t, filepath.Join(t.TempDir(), "passphrase"), 0o600)
	for mode := fs.FileMode(0o400); mode <= 0o777; mode++ {
		if mode&0o400 == 0 {
			continue
		}
		chmod(t, outside, mode)
		if got, want := isOpen(t, outside), mode&0o077 != 0; got != want {
			t.Errorf("outside, mode %o: open %t, want %t", mode, got, want)
		}
		chmod(t, file, mode)
		if got, want := isOpen(t, file), mode&0o037 != 0; got != want {
			t.Errorf("a credential, mode %o: open %t, want %t", mode, got, want)
		}
	}
}

// TestFolder: only an absolute folder that nobody else can change has credentials.
func TestFolder(t *testing.T) {
	dir, file := credentials(t)
	for mode := fs.FileMode(0o500); mode <= 0o777; mode++ {
		if mode&0o500 != 0o500 {
			continue
		}
		chmod(t, dir, mode)
		if got, want := isOpen(t, file), mode&0o022 != 0; got != want {
			t.Errorf("a folder of mode %o: open %t, want %t", mode, got, want)
		}
	}
	chmod(t, dir, 0o550)
	t.Chdir(filepath.Dir(dir))
	for _, set := range []string{"", "credentials", ".", filepath.Dir(dir), dir + "/x", file} {
		t.Setenv(directoryVariable, set)
		if !isOpen(t, file) {
			t.Errorf("with %s=%q a file of mode 0440 is a credential", directoryVariable, set)
		}
	}
	t.Setenv(directoryVariable, dir)
	if !isOpen(t, filepath.Join("credentials", "passphrase")) {
		t.Error("a relative path is a credential's")
	}
	t.Setenv(directoryVariable, dir+"/")
	if isOpen(t, file) {
		t.Error("a slash at the end of the folder's path matters")
	}
}

// owned is a file of some user.
type owned struct {
	fs.FileInfo
	user uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.user} }

// TestOwner: a file of root or of the process's user is trusted, and no other user's.
func TestOwner(t *testing.T) {
	dir, file := credentials(t)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	own := uint32(os.Geteuid())
	for user, want := range map[uint32]bool{0: true, own: true, own + 1: false, 65534: own == 65534} {
		if got := trustedOwner(owned{info, user}); got != want {
			t.Errorf("user %d: trusted %t, want %t", user, got, want)
		}
	}
	defer func() { trusted = trustedOwner }()
	for _, path := range []string{dir, file} {
		trusted = func(info fs.FileInfo) bool { return info.Name() != filepath.Base(path) }
		if !isOpen(t, file) {
			t.Errorf("%s belongs to another user", path)
		}
	}
}

// TestLinks: no link leads to a file, from a folder, or to a folder that has credentials.
func TestLinks(t *testing.T) {
	dir, file := credentials(t)
	chmod(t, dir, 0o700)
	other := t.TempDir()
	outside := secret(t, filepath.Join(other, "outside"), 0o440)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	below := secret(t, filepath.Join(sub, "below"), 0o440)
	links := map[string]string{ // the link and where it leads
		filepath.Join(dir, "escape"):  outside,
		filepath.Join(dir, "within"):  file,
		filepath.Join(other, "into"):  file,
		filepath.Join(other, "alias"): dir,
	}
	for link, to := range links {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	alias := filepath.Join(other, "alias")
	for _, path := range []string{outside, below, filepath.Join(dir, "escape"), filepath.Join(dir, "within"),
		filepath.Join(other, "into"), filepath.Join(alias, "passphrase")} {
		if !isOpen(t, path) {
			t.Errorf("%s is a credential", path)
		}
	}
	t.Setenv(directoryVariable, alias)
	if !isOpen(t, filepath.Join(alias, "passphrase")) || !isOpen(t, file) {
		t.Error("a link to a folder is a folder of credentials")
	}
}
