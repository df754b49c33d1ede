package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
)

// TestVerbsAreListed checks that docs/operating.md lists the verbs of choir-member, those and no others.
func TestVerbsAreListed(t *testing.T) {
	var want []string
	build := func(a *cli.App) *cobra.Command {
		r := root(a)
		for _, c := range r.Commands() {
			if c.GroupID != "" { // version belongs to every program
				want = append(want, c.Name())
			}
		}
		return r
	}
	streams := cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	if code := cli.Execute(t.Context(), []string{"version"}, streams, build); code != 0 || len(want) < 15 {
		t.Fatalf("code %d, verbs %q", code, want)
	}
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "builds a program with a member's verbs alone:")
	list, _, ended := strings.Cut(list, ", with the same flags")
	if !found || !ended {
		t.Fatal("no list of verbs")
	}
	var got []string
	for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the page lists %q, the program has %q", got, want)
	}
}
