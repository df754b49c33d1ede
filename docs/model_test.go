package docs

import (
	"regexp"
	"strings"
	"testing"
)

var plantedBug = regexp.MustCompile(`BUG_[A-Z_]+`)

// TestModelBugs: every planted bug of the models is described, and .ci/model looks for it.
func TestModelBugs(t *testing.T) {
	model := read(t, "model/choir.pml") + read(t, "model/sealing.pml") + read(t, "model/joining.pml")
	page, script := read(t, "model/README.md"), read(t, "../.ci/model")
	bugs := map[string]bool{}
	for _, bug := range plantedBug.FindAllString(model, -1) {
		bugs[bug] = true
	}
	if len(bugs) < 19 {
		t.Fatalf("%d planted bugs", len(bugs))
	}
	words := strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(" ;\n", r) })
	for bug := range bugs {
		if !strings.Contains(page, "| `"+bug+"` |") {
			t.Errorf("%s is not in the table of docs/model/README.md", bug)
		}
		name := strings.TrimPrefix(bug, "BUG_")
		searched := false
		for _, w := range words {
			searched = searched || w == name || w == "-D"+bug
		}
		if !searched {
			t.Errorf("%s is not searched for by .ci/model", bug)
		}
	}
}
