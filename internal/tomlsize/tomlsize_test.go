package tomlsize

import (
	"strings"
	"testing"
)

// TestCheck: every key and table counts, in any form, and comments don't.
func TestCheck(t *testing.T) {
	const n = 10
	for _, c := range []struct {
		doc string
		ok  bool
	}{
		{strings.Repeat("# a = b\n  # [a]\n\n", 100), true},
		{strings.Repeat("a = 1\n", n), true},
		{strings.Repeat("a = 1\n", n+1), false},
		{strings.Repeat("[[a]]\n", n), true},
		{strings.Repeat("\t[[a]]\r\n", n+1), false},
		{strings.Repeat("[a]\nb=1\n", n/2), true},
		{strings.Repeat("[a]\nb=1\n", n/2+1), false},
		{"a = {" + strings.Repeat("b = 1, ", n) + "}\n", false},
		{"a = [\n" + strings.Repeat("{b=1},", n+1) + "]", false},
		{"parties = [" + strings.Repeat("\"a.card\",\n", 1000) + "]\n", true},
	} {
		if err := Check([]byte(c.doc), n); (err == nil) != c.ok {
			t.Errorf("%.40q: %v", c.doc, err)
		}
	}
}
