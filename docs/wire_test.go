package docs

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"choir/protocol"
)

// TestContextIsAsLongAsItsLayout: what wire.md says of a sealed vector's context, how long
// it is and what it is made of, is what stands between a chunk's kind and its index.
func TestContextIsAsLongAsItsLayout(t *testing.T) {
	text, err := os.ReadFile("wire.md")
	if err != nil {
		t.Fatal(err)
	}
	context := regexp.MustCompile(
		"(?s)\\*\\*context\\*\\* of a sealed vector is (\\d+) bytes:\n\n```\n(.*?)\n```")
	m := context.FindSubmatch(text)
	if m == nil {
		t.Fatal("wire.md doesn't say what a context is")
	}
	stated, laidOut := string(m[1]), 0
	for _, field := range strings.Split(string(m[2]), " | ") {
		size, _, _ := strings.Cut(field, " ")
		bits, isInteger := strings.CutPrefix(size, "u")
		n, err := strconv.Atoi(bits)
		if err != nil {
			t.Fatalf("%q: %v", field, err)
		}
		if isInteger {
			n /= 8
		}
		laidOut += n
	}
	chunk := protocol.Chunk{Context: protocol.Context{Round: 1, Attempt: 1, Purpose: protocol.PurposeShare}}
	b, err := chunk.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// a chunk has half of the plan id
	if has := len(b) - 1 - 4 - 1 - 4 + 16; stated != strconv.Itoa(laidOut) || laidOut != has {
		t.Errorf("wire.md says %s bytes and lays out %d; a chunk has %d", stated, laidOut, has)
	}
}
