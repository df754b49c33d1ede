package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// goList lists the packages that choir-member needs on linux/amd64, in order.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps"}, append(args, ".")...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(out))
	slices.Sort(list)
	return list
}

// TestDependencies: a package that choir-member needs, the standard library's
// apart, is in testdata/deps.txt, so that a new one is a decision. With
// CHOIR_UPDATE=1 the file is written.
func TestDependencies(t *testing.T) {
	const golden = "testdata/deps.txt"
	got := goList(t, "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}")
	if os.Getenv("CHOIR_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(b))
	for _, p := range got {
		if !slices.Contains(want, p) {
			t.Errorf("choir-member needs %s, which %s doesn't have", p, golden)
		}
	}
	for _, p := range want {
		if !slices.Contains(got, p) {
			t.Errorf("choir-member doesn't need %s, which %s has", p, golden)
		}
	}
}

// TestDependenciesAreFew: a member needs no plots, no experiments, no attacks and
// no broker, and at most 60 % of the packages that choir had when the two were
// separated: 256 without the standard library's.
func TestDependenciesAreFew(t *testing.T) {
	const most = 256 * 60 / 100
	got := goList(t, "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}")
	if len(got) > most {
		t.Errorf("%d packages, more than %d", len(got), most)
	}
	for _, p := range got {
		for _, not := range []string{"gonum.org/v1/plot", "codeberg.org/go-latex", "codeberg.org/go-pdf",
			"github.com/nats-io/nats-server", "choir/lab", "choir/attack"} {
			if p == not || strings.HasPrefix(p, not+"/") {
				t.Errorf("choir-member needs %s", p)
			}
		}
	}
	if len(got) < 50 || !slices.Contains(got, "choir/party") {
		t.Errorf("only %d packages with %s: the list is incomplete", len(got), runtime.Version())
	}
}
