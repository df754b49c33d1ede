// Package docs tests that the documents and the code say the same.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"choir/protocol"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTransitionTables: docs/protocol.md lists exactly the transitions of each role, in order.
func TestTransitionTables(t *testing.T) {
	doc := read(t, "protocol.md")
	for role, transitions := range tables() {
		t.Run(role, func(t *testing.T) {
			_, section, ok := strings.Cut(doc, "<!-- transitions: "+role+" -->\n")
			if !ok {
				t.Fatal("no table")
			}
			section, _, _ = strings.Cut(section, "\n\n")
			if want := transitionTable(transitions); section != want {
				t.Errorf("the document has\n%s\nthe code has\n%s", section, want)
			}
		})
	}
}

// transitionTable is the Markdown table of transitions. Those to the same state for the same
// cause share a row.
func transitionTable(transitions []protocol.Transition) string {
	rows := []string{"| from | to | on |", "|---|---|---|"}
	done := map[protocol.Transition]bool{} // To and On
	for _, t := range transitions {
		row := protocol.Transition{To: t.To, On: t.On}
		if done[row] {
			continue
		}
		done[row] = true
		var from []string
		for _, u := range transitions {
			if u.To == t.To && u.On == t.On {
				from = append(from, u.From)
			}
		}
		rows = append(rows, "| "+strings.Join(from, ", ")+" | "+t.To+" | "+t.On+" |")
	}
	return strings.Join(rows, "\n")
}

// TestStatesAreDescribed: every state has a row that says what it is.
func TestStatesAreDescribed(t *testing.T) {
	doc := read(t, "protocol.md")
	for role, table := range tables() {
		for _, tr := range table {
			for _, s := range []string{tr.From, tr.To} {
				if !strings.Contains(doc, "| "+role+" | "+s+" | ") {
					t.Errorf("the state %s of a %s isn't described", s, role)
				}
			}
		}
	}
}

var layout = regexp.MustCompile(`(?m)^// Layout[^:]*:((?:.*\n//)*?.*)\n(?://\n|type )`)

// TestLayouts: the layout above each message type stands in docs/wire.md.
func TestLayouts(t *testing.T) {
	doc := words(read(t, "wire.md"))
	found := 0
	for _, file := range []string{"messages.go", "receipt.go", "chunk.go", "envelope.go", "signedplan.go"} {
		for _, m := range layout.FindAllStringSubmatch(read(t, filepath.Join("../protocol", file)), -1) {
			text := words(strings.ReplaceAll(m[1], "\n//", " "))
			text = strings.TrimSuffix(regexp.MustCompile(`\. (The|At|A) .*`).ReplaceAllString(text, ""), ".")
			found++
			if !strings.Contains(doc, text) {
				t.Errorf("%s: wire.md lacks the layout %q", file, text)
			}
		}
	}
	if found != 14 { // 11 kinds (an Accept is empty), chunk, envelope, plan file
		t.Errorf("%d layouts in the code", found)
	}
}

// TestPlanLayout: the plan's layout spans lines, so it is compared line by line.
func TestPlanLayout(t *testing.T) {
	doc, code := read(t, "wire.md"), read(t, "../protocol/plan.go")
	_, block, ok := strings.Cut(doc, "## The plan\n\n```\n")
	block, _, _ = strings.Cut(block, "\n```")
	for _, line := range strings.Split(block, "\n") {
		if !ok || !strings.Contains(code, "//\t"+line+"\n") {
			t.Errorf("the code's layout lacks the line %q", line)
		}
	}
}

// TestLabels: every label that separates one use of a hash or key from another
// is in docs/wire.md.
func TestLabels(t *testing.T) {
	doc, found := read(t, "wire.md"), 0
	literal := regexp.MustCompile(`"(choir [a-z0-9 ]+?)(?:\\x00)?"`)
	for _, file := range []string{"audit.go", "chunk.go", "contexts.go", "digest.go", "envelope.go",
		"messages.go", "plan.go"} {
		code := read(t, filepath.Join("../protocol", file))
		for _, m := range literal.FindAllStringSubmatch(code, -1) {
			found++
			if m[1] == "choir v1 file" || m[1] == "choir v1 key worker" {
				continue // both ends are one implementation
			}
			if !strings.Contains(doc, "`"+m[1]+"`") && !strings.Contains(doc, `"`+m[1]+`"`) {
				t.Errorf("%s: the label %q isn't in wire.md", file, m[1])
			}
		}
	}
	if found < 22 {
		t.Errorf("only %d labels found", found)
	}
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }
