package transport_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"choir/transport"
)

// countMatches returns how many of the filters match the subject.
func countMatches(t *rapid.T, filters []string, subject string) (n int) {
	for _, f := range filters {
		compiled, err := transport.NewFilters([]string{f})
		if err != nil {
			t.Fatal(err)
		}
		if compiled.Match(subject) {
			n++
		}
	}
	return n
}

// TestIndexAgreesWithFilters checks that the index finds the subscribers that matching each filter
// finds, once a filter, while subscribers are added and removed.
func TestIndexAgreesWithFilters(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "ab"})
	wild := rapid.SampledFrom([]string{"a", "b", "ab", "*"})
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		var index transport.Index[int]
		there := map[int][]string{}
		for who := range rapid.IntRange(1, 12).Draw(t, "who") {
			for range rapid.IntRange(1, 3).Draw(t, "filters") {
				tokens := rapid.SliceOfN(wild, 1, 4).Draw(t, "tokens")
				if rapid.Bool().Draw(t, "open") {
					tokens = append(tokens, ">")
				}
				there[who] = append(there[who], strings.Join(tokens, "."))
			}
			index.Add(who, there[who])
			if gone := rapid.IntRange(0, 3*who+3).Draw(t, "gone"); there[gone] != nil {
				index.Remove(gone, there[gone])
				delete(there, gone)
			}
		}
		for range 5 {
			subject := strings.Join(rapid.SliceOfN(token, 1, 5).Draw(t, "subject"), ".")
			got := map[int]int{}
			index.Match(subject, func(who int) { got[who]++ })
			for who, filters := range there {
				want := countMatches(t, filters, subject)
				if got[who] != want {
					t.Fatalf("%s is found %d times under %v, want %d", subject, got[who], filters, want)
				}
				matched += want
				delete(got, who)
			}
			if len(got) > 0 {
				t.Fatalf("%s: found subscribers that were removed: %v", subject, got)
			}
		}
	})
	if matched == 0 {
		t.Fatal("nothing ever matched: the test shows nothing")
	}
}
