package secretfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// readVariable names a file that the test's own program is to read as a service's user.
const readVariable = "CHOIR_TEST_READ"

func TestMain(m *testing.M) {
	if path := os.Getenv(readVariable); path != "" {
		os.Exit(readAsService(path))
	}
	os.Exit(m.Run())
}

// readAsService returns 0 for a file that the user can read and whose mode is right, else 3 or 4.
func readAsService(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 3
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || Open(path, info) {
		return 4
	}
	return 0
}

// accessList makes an access control list by which a user has the given permissions on what root owns.
func accessList(t *testing.T, path string, user uint32, permissions uint16) {
	t.Helper()
	none := ^uint32(0)
	list := binary.LittleEndian.AppendUint32(nil, 2) // the version
	for _, entry := range []struct {
		tag, permissions uint16
		id               uint32
	}{{1, permissions, none}, {2, permissions, user}, {4, 0, none}, {16, permissions, none}, {32, 0, none}} {
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, entry.permissions)
		list = binary.LittleEndian.AppendUint32(list, entry.id)
	}
	if err := syscall.Setxattr(path, "system.posix_acl_access", list, 0); err != nil {
		t.Fatal(err)
	}
}

// TestCredentialOfService lets another user read what root has handed over as systemd does: a file of mode
// 0440 in a folder of mode 0550, both of which are root's and have an access control list. Only root can make
// them.
func TestCredentialOfService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: nothing can be handed over to another user")
		return
	}
	const user = 65534
	dir, file := credentials(t)
	chmod(t, filepath.Dir(dir), 0o755)
	chmod(t, filepath.Dir(filepath.Dir(dir)), 0o755)
	chmod(t, file, 0o400)
	chmod(t, dir, 0o500)
	accessList(t, file, user, 4)
	accessList(t, dir, user, 5)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o440 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	program := copyOfProgram(t, filepath.Dir(dir))
	for set, want := range map[string]int{dir: 0, filepath.Dir(dir): 4} {
		cmd := exec.Command(program)
		cmd.Env = []string{readVariable + "=" + file, directoryVariable + "=" + set}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out := new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("with %s=%s: %v, want exit code %d: %s", directoryVariable, set, err, want, out)
		}
	}
}

// copyOfProgram copies the test's program to where every user can run it.
func copyOfProgram(t *testing.T, dir string) (path string) {
	t.Helper()
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	path = filepath.Join(dir, "program")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, own)
	if closeErr := to.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	return path
}
