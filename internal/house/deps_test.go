package house

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// folders are those at the top of the module, apart from hidden ones and what a
// build leaves.
var folders = []string{"aggregator", "attack", "cmd", "compute", "crypto", "docs", "examples", "host",
	"internal",
	"lab", "learn", "party", "privacy", "protocol", "python", "session", "testdata", "transport"}

// mostFolders bounds the folders at the top besides hidden ones.
const mostFolders = 19

// TestFolders: the top of the module has the folders of the list, and few.
func TestFolders(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		switch name := e.Name(); {
		case !e.IsDir() || name == ".git" || name == "choir-out" || name == "dist":
		case strings.HasPrefix(name, "."):
		default:
			found = append(found, name)
		}
	}
	if !slices.Equal(found, folders) {
		t.Errorf("folders %q, want %q", found, folders)
	}
	if n := len(found); n > mostFolders {
		t.Errorf("%d folders, more than %d", n, mostFolders)
	}
}

// TestMembersNeedNoLab: nothing that a party, a compute node, an aggregator or a
// deployment's program needs imports plots, experiments, attacks or the embedded
// broker.
func TestMembersNeedNoLab(t *testing.T) {
	direct := map[string][]string{}
	for _, f := range files(t) {
		if !f.test {
			direct["choir/"+f.pkg] = append(direct["choir/"+f.pkg], imports(f)...)
		}
	}
	for _, root := range []string{"party", "compute", "aggregator", "host", "session/app", "session/terms",
		"session/run", "session/result", "session/member", "cmd/choir-member"} {
		t.Run(root, func(t *testing.T) {
			seen := map[string]bool{}
			var visit func(path string)
			visit = func(path string) {
				if seen[path] {
					return
				}
				seen[path] = true
				for _, not := range []string{"choir/lab", "choir/attack", "gonum.org/v1/plot",
					"github.com/nats-io/nats-server", "codeberg.org/go-fonts", "golang.org/x/image"} {
					if path == not || strings.HasPrefix(path, not+"/") {
						t.Errorf("%s needs %s", root, path)
					}
				}
				for _, p := range direct[path] {
					visit(p)
				}
			}
			visit("choir/" + root)
			if len(seen) < 10 {
				t.Errorf("only %d packages", len(seen))
			}
		})
	}
}
