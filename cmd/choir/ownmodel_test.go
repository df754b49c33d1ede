package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOwnModelPage: every command and every file that docs/own-model.md shows is in
// the script that is run.
func TestOwnModelPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/own-model.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/long/ownmodel.txt")
	if err != nil {
		t.Fatal(err)
	}
	commands, files := 0, 0
	for _, block := range regexp.MustCompile("(?s)```(sh|toml)\n(.*?)```").FindAllStringSubmatch(string(page),
		-1) {
		if block[1] == "toml" {
			if files++; !strings.Contains(string(script), " --\n"+block[2]+"-- ") {
				t.Errorf("no file of the script is\n%s", block[2])
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			if commands++; !regexp.MustCompile(`(?m)^exec ` + regexp.QuoteMeta(line) + `( &\w+&)?$`).Match(script) {
				t.Errorf("the script doesn't run %q", line)
			}
		}
	}
	if commands < 8 || files < 1 {
		t.Errorf("only %d commands and %d files found", commands, files)
	}
	if !strings.Contains(string(page), "go build -o logistic ./examples/external/go") {
		t.Error("the page doesn't say how the example is built")
	}
}
