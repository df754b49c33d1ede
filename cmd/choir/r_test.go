package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestR: the lines for R in docs/python.md call verbs and flags that the program has. Where there is an R
// with jsonlite, they run on a real session.
func TestR(t *testing.T) {
	page, err := os.ReadFile("../../docs/python.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```r\n(.*?)```").FindAllSubmatch(page, -1) {
		script.Write(block[1])
	}
	calls := regexp.MustCompile(`\bchoir"?[(,] ?(?:c\()?((?:"[a-z]+"(?:, )?)+)(.*(?:\n  .*)*)`)
	found := calls.FindAllStringSubmatch(script.String(), -1)
	if len(found) != 9 {
		t.Errorf("%d calls: %q", len(found), found)
	}
	for _, call := range found {
		var verb []string
		for _, word := range strings.Split(call[1], ", ") {
			if word = strings.Trim(word, `"`); word != "" {
				verb = append(verb, word)
			}
		}
		help, err := exec.Command(binary(t), append(verb, "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", verb, err, help)
		}
		for _, flag := range regexp.MustCompile(`"(--[a-z-]+)"`).FindAllStringSubmatch(call[2], -1) {
			if !strings.Contains(string(help), flag[1]+" ") {
				t.Errorf("%q has no %s", verb, flag[1])
			}
		}
	}
	if out, err := exec.Command("Rscript", "-e", "library(jsonlite)").CombinedOutput(); err != nil {
		t.Logf("no R with jsonlite here: the calls alone are checked: %v %s", err, out)
		return
	}
	runR(t, script.String())
}

// runR runs R's lines beside a finished trial, and an error.
func runR(t *testing.T, script string) {
	t.Helper()
	run := besideTrial(t, "PATH="+filepath.Dir(binary(t))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	script += "\nprint(names(coefficients))\nprint(predicted$remark)\n" +
		"message(try(choir(\"verify\", \"nowhere\"), silent = TRUE))\n"
	lines := filepath.Join(t.TempDir(), "lines.R")
	if err := os.WriteFile(lines, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out := run("Rscript", lines)
	for _, want := range []string{"0.9998992", "5.5 7.0", "one curious party", "odds_ratio_lower",
		"missing: creatinine", "nowhere/plan.choir: no such file"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
