package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var threatModel = filepath.Join("..", "..", "docs", "threat-model.md")

// people are the roles by the prefix of their members' names.
var people = map[string]string{"": "all honest members", "p": "parties", "c": "nodes",
	"agg": "the aggregator",
	"p0":  "the party that it concerns", "p1": "the parties that are shown it",
	"c1": "the node that it concerns"}

// liar is who lies in a row.
func (row cheater) liar() string {
	s := map[string]string{"p0": "party", "c0": "node", "agg": "aggregator"}[row.who]
	if row.shows != "" {
		s += " and broker"
	}
	if row.with != nil {
		s += " and node"
	}
	return s
}

// noticed says who notices a row's lie, and when; ends how the session goes on; named whether what they
// report names the liar.
func (row cheater) noticed() (noticed, ends, named string) {
	c := row.comes
	noticed, named = "nobody", "no"
	if c.refused != nil {
		noticed = fmt.Sprintf("%s, at the message: %v", people[c.by], c.refused)
		if !c.nameless {
			named = "yes"
		}
	} else if c.ends != 0 {
		noticed = fmt.Sprintf("%s: %s", people[strings.TrimSuffix(c.of, "none")], c.because)
	}
	if c.ends != 0 && slices.Contains(strings.Fields(c.because), row.who) {
		named = "yes"
	}
	switch {
	case c.ends != 0:
		ends = fmt.Sprintf("class %d", c.ends)
	case c.of == "none":
		ends = "it stands still"
	case c.rejected:
		ends, noticed = "a round is lost", "everybody, at the result: the sum is out of range"
	case c.wrong:
		ends = "another sum"
	case c.uncounted == row.who:
		ends = "without the party"
	case c.uncounted != "":
		ends = "without a party"
	case len(c.sets) > 0 && slices.Min(c.sets) < 4:
		ends = "without a party in the next round"
	case len(c.sets) > 0:
		ends = "as if it were not there"
	}
	return noticed, ends, named
}

// lieTable is the table of all rows.
func lieTable() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| liar | lie | who notices, and when | the session ends | the report names it |")
	fmt.Fprintln(&b, "|---|---|---|---|---|")
	for _, row := range slices.Concat(cheaters(), coalitions, moreRows) {
		noticed, ends, named := row.noticed()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.liar(), row.what, noticed, ends, named)
	}
	return b.String()
}

// TestThreatModelHasEveryLie: the long table of docs/threat-model.md is the table of cheats, which runs in
// the simulator and over both transports. With -update it is written.
func TestThreatModelHasEveryLie(t *testing.T) {
	const begin, end = "<!-- lies -->\n", "<!-- end of lies -->"
	b, err := os.ReadFile(threatModel)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(b), begin)
	have, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("no table between the marks")
	}
	if have == lieTable() {
		return
	}
	if *update {
		if err := os.WriteFile(threatModel, []byte(head+begin+lieTable()+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the table of lies is not the table of cheats; -update writes it")
}

// summary has, for each line of the short table, rows of the table of cheats or tests that show it.
var summary = map[string][]string{
	"its chunks contradict its manifest, or it signs two": {"account of another share than was sent",
		"two contributions"},
	"a contribution that is not its update": {"an input that isn't its update", "an input beyond all bounds"},
	"in audit mode, a commitment to something else": {"audit: input that isn't committed to",
		"pairs: a neighbour that isn't committed to"},
	"a set or a sum of commitments that the lists do not have": {"list and agreement that don't fit",
		"agreement to another set", "audit: another sum of commitments", "with the broker: two lists"},
	"a partial sum over another set, or another than it agreed with": {"partial sum over another set",
		"another sum than it agreed with"},
	"a sum that is not that of its shares": {"sum of something else", "audit: sum of something else"},
	"a set, partial sums or a sum of commitments that the nodes did not sign": {"a result over another set",
		"false partial digests", "another bundle in the set"},
	"a sum, an outcome or a model that does not follow from what it signed": {"rejected, though it isn't",
		"another aggregate than signed", "a model that the aggregate doesn't lead to"},
	"a void where a node has revealed": {"void, though it was revealed", "void before the result"},
	"an aggregate that is not the sum of the partial sums": {"another aggregate, consistently",
		"another sum of traces"},
	"the same, with a Confirm that makes it pass": {"another aggregate, and a node confirms it",
		"another aggregate, which a node confirms", "audit: another aggregate, which a node confirms", "TestLies"},
	"two results of one attempt": {"two results", "with the broker: two results"},
	"a Confirm of another result or another partial sum": {"confirm of another result",
		"confirm of another sum", "with the broker: two confirms"},
	"a Confirm that denies a party's channel": {"confirm that denies a party's channel"},
	"a chunk of a result of its own":          {"a chunk of a result under the group key"},
	"a round, list or contribution that follows another result": {"round after another result",
		"list after another result", "contribution after another result"},
	"two models for one attempt": {"one attempt on two models",
		"with the broker: one attempt on two models"},
	"a store that was rolled back": {"TestRolledBackStore", "TestRestoredStores"},
	"the same, to before a contribution of which chunks left and the manifest did not, or that the broker " +
		"hides": {"TestRestoredStores"},
	"the same": {"TestRewindsOfEveryRole", "TestRestoredStores"},
	"a message that was altered, moved or invented": {"TestAlteringBroker", "TestProfiles"},
}

// TestThreatModelSummary: each line of the short table has tests, and there is no line without.
func TestThreatModelSummary(t *testing.T) {
	b, err := os.ReadFile(threatModel)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "| liar | lie | who notices, and when | named |\n|---|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	tests, lines, rows := functions(t), 0, slices.Concat(cheaters(), coalitions, moreRows)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines++
		cells := strings.Split(line, " | ")
		if len(cells) != 4 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		shown := summary[cells[1]]
		if len(shown) == 0 {
			t.Errorf("no test for %q", cells[1])
		}
		live := false // over both transports
		for _, name := range shown {
			row := slices.IndexFunc(rows, func(row cheater) bool { return row.what == name })
			if row < 0 && !strings.Contains(tests, "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%q: there is no row or test %q", cells[1], name)
			}
			if row >= 0 {
				sameName(t, cells, rows[row])
			}
			live = live || row >= 0 || name == "TestRestoredStores" || name == "TestAlteringBroker"
		}
		if !live {
			t.Errorf("%q is not tested over both transports", cells[1])
		}
	}
	if lines != len(summary) || lines < 15 {
		t.Errorf("%d lines, %d with tests", lines, len(summary))
	}
}

// sameName checks that a row names its liar only if the line says that it is named.
func sameName(t *testing.T, cells []string, row cheater) {
	t.Helper()
	if _, _, named := row.noticed(); named == "yes" && strings.HasPrefix(cells[3], "no ") {
		t.Errorf("%q says that the liar isn't named, %q names it", cells[1], row.what)
	}
}

// functions is the source of the tests of this package and of package verify.
func functions(t *testing.T) string {
	t.Helper()
	var all []byte
	for _, pattern := range []string{"*_test.go", filepath.Join("..", "..", "protocol", "verify", "*_test.go")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
	}
	return string(all)
}
