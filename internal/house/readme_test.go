package house

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadmeRuns runs all blocks of commands of the README in one shell, in a
// folder that links to the entries of the working tree: what the commands leave
// goes to a scratch folder. For `make test` the test checks that CI runs it, since
// it cannot call itself.
func TestReadmeRuns(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) < 7 {
		t.Fatalf("the README has %d blocks of commands: too few to be all", len(blocks))
	}
	script, calls := "set -eu\n", 0
	for _, b := range blocks {
		if text := string(b[1]); text == "make test\n" {
			calls++
		} else {
			script += text
		}
	}
	if calls != 1 {
		t.Errorf("the README calls `make test` %d times, not once", calls)
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil || !strings.Contains(string(ci), "\nmake test\nmake check\n") {
		t.Errorf("CI doesn't call make test and make check (%v)", err)
	}
	if testing.Short() {
		return
	}
	runScript(t, root, script)
}

// runScript runs the script in a scratch folder that looks like the module
// root: the same entries, linked.
func runScript(t *testing.T, root, script string) {
	t.Helper()
	scratch := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "choir" || e.Name() == "choir-out" || e.Name() == ".git" {
			continue
		}
		if err := os.Symlink(filepath.Join(root, e.Name()), filepath.Join(scratch, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "trap 'kill ${broker:-} 2>/dev/null || true' EXIT\n"+script)
	cmd.Dir = scratch
	cmd.WaitDelay = 5 * time.Second // what the script left in the background doesn't hold the test
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"secure sum (this session)", `"schema_version"`, "5.5", "28",
		"signed by all 7 members"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the README's commands don't print %q:\n%s", want, out)
		}
	}
}
