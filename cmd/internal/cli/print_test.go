package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"choir/host/status"
	"choir/session/member"
)

// TestProgressOfNobody: of who was not heard of yet, the time since which it could have been is told.
func TestProgressOfNobody(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &member.Progress{Listening: at, Members: []status.Peer{
		{Name: "node-a", Role: "compute", State: "unheard"},
		{Name: "node-b", Role: "compute", State: "unheard", Missing: true},
		{Name: "node-c", Role: "compute", State: "joining", Heard: &at}}}
	var b strings.Builder
	printProgress(&b, p)
	for _, want := range []string{"compute    not heard yet, listening since 03:04:05\n",
		"compute    MISSING, not heard yet, listening since 03:04:05\n",
		"compute    joining, heard at 03:04:05\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

// TestWrap: lines end at words, before LineWidth, and continue below the head's
// end; a word that is too long has its own line.
func TestWrap(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 40))
	for _, c := range []struct{ name, head, text, want string }{
		{name: "short", head: "head: ", text: "text", want: "head: text\n"},
		{name: "empty", head: "head: ", text: "", want: "head:\n"},
		{name: "no head", head: "", text: "some text", want: "some text\n"},
		{name: "long word", head: "head: ", text: strings.Repeat("x", 90),
			want: "head: " + strings.Repeat("x", 90) + "\n"},
		{name: "two lines", head: "head: ", text: strings.Repeat("x", 70) + " next",
			want: "head: " + strings.Repeat("x", 70) + "\n      next\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			if Wrap(&b, c.head, c.text); b.String() != c.want {
				t.Errorf("%q, want %q", b.String(), c.want)
			}
		})
	}
	var b strings.Builder
	Wrap(&b, "words: ", words)
	for line := range strings.Lines(b.String()) {
		if len(strings.TrimRight(line, "\n")) > LineWidth || !strings.HasPrefix(line, "words: ") &&
			!strings.HasPrefix(line, "       word") {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(b.String(), "word "); n < 30 {
		t.Errorf("%d words", n)
	}
}

// TestParameters: a plan's parameters are printed a value a line, in their order.
func TestParameters(t *testing.T) {
	raw := json.RawMessage(`{"pvi": {"steps": 5, "rate": 0.05, "local": true}, "weights": [1, 2],
		"columns": [{"name": "x", "numeric": {"lo": 0, "hi": 4}}, {"name": "y"}], "none": [],
		"big": 12345678901234567890}`)
	var b strings.Builder
	printParameters(&b, raw)
	want := `
parameters of the application
  pvi.steps  5
  pvi.rate   0.05
  pvi.local  true
  weights    1, 2
  columns    name x, numeric (lo 0, hi 4)
  columns    name y
  none
  big        12345678901234567890
`
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
	b.Reset()
	if printParameters(&b, json.RawMessage("not JSON")); !strings.Contains(b.String(), "not JSON") {
		t.Errorf("%q", b.String())
	}
}

// TestDistance counts insertions, deletions, replacements and exchanges.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{a: "", b: "", want: 0}, {a: "demo", b: "demo", want: 0}, {a: "demos", b: "demo", want: 1},
		{a: "modle", b: "model", want: 1}, {a: "shwo", b: "show", want: 1}, {a: "sum", b: "plan", want: 4},
		{a: "", b: "abc", want: 3}, {a: "kitten", b: "sitting", want: 3},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != got {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
