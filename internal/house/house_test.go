package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// may lists what a package of the module may import, by the longest prefix of its
// path. An import that is not listed is forbidden; a new folder at the top must be
// entered here.
var may = map[string][]string{
	"cmd/choir-member": {"cmd/internal"},
	"cmd/internal": {"internal", "session", "host", "protocol", "transport", "learn/dataset",
		"crypto/identity"},
	"cmd": {"cmd/internal", "lab", "attack", "internal", "session", "host", "protocol",
		"transport", "learn", "privacy", "crypto"},
	"lab": {"lab", "attack", "internal", "session", "host", "party", "compute", "aggregator",
		"protocol", "transport", "learn", "privacy", "crypto"},
	"attack": {"attack", "internal", "session", "host", "party", "compute", "aggregator",
		"protocol", "transport", "learn", "privacy", "crypto"},
	"session/app": {"protocol", "learn", "privacy", "crypto"},
	"session/terms": {"session/app", "internal/config", "internal/atomicfile", "protocol", "learn",
		"privacy", "crypto"},
	"session/run": {"session/app", "session/terms", "host", "party", "compute", "aggregator",
		"protocol", "transport", "privacy", "crypto"},
	"session/result": {"session/app", "session/terms", "internal/atomicfile", "internal/strictjson", "protocol",
		"learn", "privacy", "crypto"},
	"session/member": {"session/app", "session/terms", "session/run", "session/result",
		"internal/config", "internal/atomicfile", "internal/disk", "host", "compute", "protocol",
		"transport", "learn", "privacy", "crypto"},
	"session/internal": {"session", "internal/atomicfile", "host", "party", "protocol", "transport",
		"learn", "privacy", "crypto"},
	"host":       {"host", "protocol", "transport"},
	"party":      {"protocol", "privacy", "crypto", "internal/parallel"},
	"compute":    {"protocol", "privacy", "crypto", "internal/parallel"},
	"aggregator": {"protocol", "privacy", "crypto", "internal/parallel"},
	"protocol":   {"protocol", "privacy", "crypto"},
	// a node opens thousands of entries at once, on all cores
	"protocol/mix": {"protocol", "crypto", "internal/parallel"},
	"privacy":      {"privacy"},
	"crypto":       {"crypto", "internal/parallel", "internal/secretfile"},
	"transport":    {"transport", "internal/secretfile"},
	"learn": {"learn", "crypto/fixedpoint", "crypto/noise", "internal/atomicfile",
		"internal/strictjson", "internal/tomlsize"},
	"learn/mcmc": {"learn", "crypto/fixedpoint", "crypto/blake", "crypto/field", "crypto/xof"},
	"examples":   {"learn"},
	"docs":       {}, // tests that hold the documents to the code
	"internal":   {"internal", "crypto", "privacy", "protocol", "transport", "host", "session"},
}

// impure lists what a role must not import: its clock, randomness and input come
// with its events.
var impure = []string{"time", "os", "net", "sync", "log", "log/slog", "math/rand", "math/rand/v2",
	"crypto/rand",
	"sync/atomic", "net/http", "os/exec", "context"}

type file struct {
	top    string // first folder
	pkg    string // folder
	path   string
	test   bool
	syntax *ast.File
}

// files is the whole module.
func files(t *testing.T) []file {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d Go files found: the test would check nothing", len(all))
	}
	return all
}

// parsed parses the whole module, once for all tests, which only read it.
var parsed = sync.OnceValues(func() (all []file, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "choir-out" ||
				name == "peers") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(rel))
		all = append(all, file{top: strings.Split(pkg, "/")[0], pkg: pkg, path: rel,
			test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
		return nil
	})
	return all, err
})

func imports(f file) (paths []string) {
	for _, s := range f.syntax.Imports {
		paths = append(paths, strings.Trim(s.Path.Value, `"`))
	}
	return paths
}

func TestArrows(t *testing.T) {
	checked := 0
	for _, f := range files(t) {
		allowed, known := allowedIn(f.pkg)
		if !known {
			t.Errorf("%s: %s isn't in the table of arrows", f.path, f.pkg)
		}
		if f.test {
			continue // a test may look down from anywhere
		}
		for _, path := range imports(f) {
			inner, ours := strings.CutPrefix(path, "choir/")
			if ours && !permitted(inner, allowed) {
				t.Errorf("%s imports %s: no such arrow", f.path, path)
			}
			checked++
		}
	}
	if checked < 300 {
		t.Errorf("only %d imports checked", checked)
	}
}

// allowedIn is the row of the table with the longest prefix of the package's path.
func allowedIn(pkg string) (allowed []string, known bool) {
	for prefix := pkg; prefix != "."; prefix = path.Dir(prefix) {
		if allowed, known = may[prefix]; known {
			return allowed, true
		}
	}
	return nil, false
}

func permitted(inner string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return inner == a || strings.HasPrefix(inner, a+"/")
	})
}

func TestRolesArePure(t *testing.T) {
	checked := 0
	for _, f := range files(t) {
		roles := []string{"party", "compute", "aggregator", "protocol/mix"}
		if f.test || !slices.Contains(roles, f.top) && !slices.Contains(roles, f.pkg) {
			continue
		}
		for _, path := range imports(f) {
			if slices.Contains(impure, path) {
				t.Errorf("%s imports %s: a role does no I/O and keeps no clock", f.path, path)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine at offset %d", f.path, g.Pos())
			}
			return true
		})
		checked++
	}
	if checked < 10 {
		t.Errorf("only %d files of roles checked", checked)
	}
}

// TestNoWeakRandomness: outside tests and what serves them, data handling and the
// simulator, no package imports a statistical generator.
func TestNoWeakRandomness(t *testing.T) {
	for _, f := range files(t) {
		if f.test || strings.HasPrefix(f.pkg, "learn/dataset") || strings.HasPrefix(f.pkg, "attack/") ||
			f.pkg == "session/internal/rig" {
			continue
		}
		for _, path := range imports(f) {
			if strings.HasPrefix(path, "math/rand") {
				t.Errorf("%s imports %s", f.path, path)
			}
		}
	}
}

// TestPackageComments: every package has a package comment.
func TestPackageComments(t *testing.T) {
	doc := map[string]bool{}
	for _, f := range files(t) {
		if !f.test {
			doc[f.pkg] = doc[f.pkg] || (f.syntax.Doc != nil && strings.TrimSpace(f.syntax.Doc.Text()) != "")
		}
	}
	for pkg, has := range doc {
		if !has {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}
