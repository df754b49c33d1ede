package mixnet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lines has the rows of each line of the mix-net's table in docs/threat-model.md, by what the line says of
// the lie.
var lines = map[string][]string{
	"two onions; a copy of another's onion, also altered; an onion of an earlier round, for other keys or of " +
		"another length": {"two onions", "a copy of another party's onion", "another party's onion, altered",
		"an onion of another length", "more onions than it may send", "a message of onions beyond the last",
		"an onion for other keys", "an onion of an earlier round",
		"the onion of an earlier round in a new signature"},
	"an outer layer for a later node, or an inner layer, that does not open or is not what its digest says": {
		"an outer layer for the second node that does not open",
		"an outer layer for the third node that does not open", "an inner layer that does not open",
		"an inner layer other than its digest"},
	"go for another list, or without an onion": {"go for another list", "go without an onion"},
	"no go":                           {"silence in place of go"},
	"a node's message":                {"a node's message"},
	"a party left out of batch 0":     {"an onion left out of the first batch"},
	"entries other than it describes": {"other entries than it describes"},
	"an entry dropped, doubled or added in its batch": {"an onion dropped without a word",
		"more onions of a party than it has", "an entry of the list dropped without a word", "an onion twice",
		"one onion more"},
	"no entries after their description": {"a description and no entries"},
	"entries replaced, or declared not to open": {"an onion reported as one that does not open",
		"an onion replaced", "an entry of the list replaced", "all onions but one replaced",
		"all entries of the list but one replaced"},
	"silence: no keys, no batch, no signature": {"no keys", "refusal to accept onions", "refusal to shuffle",
		"no agreement"},
	"keys that are none":               {"keys that are none"},
	"another node's batch":             {"another node's batch"},
	"two batches, or two sets of keys": {"two batches", "other keys for some"},
	"two descriptions of a batch, shown to different members": {"with the broker: two descriptions of a batch",
		"with the broker: two descriptions of what it opened"},
	"two lists, shown to different members": {"with the broker: two lists"},
	"a complaint that is false": {"a false complaint", "a false complaint with a piece that is right",
		"a complaint with another node's piece"},
	"the list opened before all have agreed":          {"the list opened before all agree"},
	"the signature on another list":                   {"agreement to another list"},
	"the signature on the list without N_min parties": {"agreement without the parties"},
	"another content in place of what it opened": {"another entry in place of what the layer has",
		"an entry of the list in another's place"},
	"an entry of the list declared not to open":             {"an entry reported as one that does not open"},
	"an entry declared not to open that is not in the list": {"an entry reported that is none"},
	"reports sealed wrongly for the aggregator": {"other reports than it describes",
		"reports sealed wrongly for the aggregator"},
	"a result before the list is opened": {"a result before the list is opened"},
	"a report left out; reports or a list that the nodes did not sign": {"a report left out",
		"other reports than the nodes opened", "a result of another list"},
	"a void after the list is opened; a round once more; more attempts than the plan has": {
		"a void where the list is opened", "a round that is over once more", "more attempts than the plan has"},
	"a party suspected, which shuffles nothing": {"a void that suspects a party"},
	"a node suspected whose fault the record does not show, or another than it " +
		"shows": nil, // TestSuspects
	"two keys for the reports":     {"two keys for the reports"},
	"a store that was rolled back": nil, // TestRollbackOverTransports
}

// TestThreatModel: each line of the mix-net's table has rows, which TestRowsOverTransports runs, and every
// row is in a line that tells who lies and whether that member is named.
func TestThreatModel(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "In a plan with [the mix-net]")
	_, text, _ = strings.Cut(text, "|---|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	rows, found := Rows(), 0
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		what, known := lines[cells[1]]
		if !known {
			t.Errorf("no row for %q", cells[1])
		}
		found++
		for _, w := range what {
			if !slices.ContainsFunc(rows, func(r Row) bool { return r.What == w }) {
				t.Errorf("%q: there is no row %q", cells[1], w)
			}
		}
		for _, r := range rows {
			if slices.Contains(what, r.What) {
				r.told(t, cells[0], cells[3])
			}
		}
	}
	if found != len(lines) {
		t.Errorf("%d lines, %d with rows", found, len(lines))
	}
	for _, r := range rows {
		n := 0
		for _, what := range lines {
			if slices.Contains(what, r.What) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %q is in %d lines", r.Who, r.What, n)
		}
	}
}

// told checks who lies in a line, and that it does not say "no" of a row that names the liar.
func (r *Row) told(t *testing.T, liar, named string) {
	t.Helper()
	role := map[byte]string{'p': "party", 'c': "node", 'a': "aggregator"}[r.Who[0]]
	if !strings.Contains(liar, role) || (r.shown != nil) != strings.Contains(liar, "and broker") {
		t.Errorf("%s: %q is in a line of the %s", r.Who, r.What, liar)
	}
	c := r.comes
	names := c.suspect == r.Who || c.lost == r.Who || c.refused != nil && !c.nameless
	if names != !strings.HasPrefix(named, "no") && named != "both" {
		t.Errorf("%s: %q: named %t, the line says %q", r.Who, r.What, names, named)
	}
}
