package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
)

// TestDocumentsCallCommands: every `choir ...` in a page's code names a command that is
// there, with flags that it takes.
func TestDocumentsCallCommands(t *testing.T) {
	code := regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]+`|^    [^\n]*")
	call := regexp.MustCompile(`(?:^|[\s(` + "`" + `]|\.{1,2}/|cmd/)choir ([a-z][^\n|;&` + "`" + `]*)`)
	root, called := root(&cli.App{}), map[string]int{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "decisions" {
			return filepath.SkipDir // records name what was decided against
		}
		if err != nil || filepath.Ext(path) != ".md" || d.Name() == "wire.md" { // its labels look like commands
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, block := range code.FindAllString(string(text), -1) {
			block = strings.ReplaceAll(block, "\\\n", " ")
			for _, m := range call.FindAllStringSubmatch(block, -1) {
				verb, wrong := checkCall(root, strings.Fields(m[1]))
				if called[verb]++; wrong != "" {
					t.Errorf("%s: choir %s: %s", path, m[1], wrong)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range root.Commands() {
		if called[c.Name()] == 0 && c.Name() != "help" && c.Name() != "completion" {
			t.Errorf("no document shows choir %s", c.Name())
		}
	}
}

// checkCall finds the verb of a command line below root, and what is wrong with it.
func checkCall(root *cobra.Command, words []string) (verb, wrong string) {
	cmd := root
	for len(words) > 0 {
		next, _, err := cmd.Find(words[:1])
		if err != nil || next == cmd {
			break
		}
		cmd, words = next, words[1:]
		if verb == "" {
			verb = cmd.Name()
		}
	}
	if cmd == root || cmd.HasSubCommands() && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return verb, "no such command"
	}
	cmd.InitDefaultHelpFlag()
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if cmd.Flag(name) == nil {
				return verb, "no flag --" + name
			}
		}
	}
	return verb, ""
}
