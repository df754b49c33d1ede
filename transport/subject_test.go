package transport_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"choir/transport"
)

var (
	word    = `[A-Za-z0-9_-]+`
	subject = regexp.MustCompile(`\A(` + word + `\.){0,15}` + word + `\z`)
	filter  = regexp.MustCompile(`\A((` + word + `|\*)\.){0,15}(` + word + `|\*|>)\z`)
)

// FuzzValidate compares the validators with regular expressions.
func FuzzValidate(f *testing.F) {
	for _, s := range []string{
		"", "a", "a.b", "a..b", ".", "*", ">", "a.>", ">.a", "a.*.b", "a*", "a b", "é", "a\n", "a.\x00",
		strings.Repeat("a.", 15) + "a", strings.Repeat("a.", 16) + "a",
		strings.Repeat("x", 512), strings.Repeat("x", 513),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fits := len(s) <= transport.MaxSubject
		for name, check := range map[string]struct {
			err  error
			want bool
		}{
			"subject": {transport.ValidateSubject(s), fits && subject.MatchString(s)},
			"filter":  {transport.ValidateFilter(s), fits && filter.MatchString(s)},
		} {
			t.Run(name, func(t *testing.T) {
				if (check.err == nil) != check.want || check.err != nil && !errors.Is(check.err, transport.ErrSubject) {
					t.Errorf("%s %q: %v, want valid: %v", name, s, check.err, check.want)
				}
			})
		}
	})
}

// TestMatch compares Match with the filter written as a regular expression.
func TestMatch(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "ab"})
	wild := rapid.SampledFrom([]string{"a", "b", "ab", "*"})
	rapid.Check(t, func(t *rapid.T) {
		subject := strings.Join(rapid.SliceOfN(token, 1, 5).Draw(t, "subject"), ".")
		var filters, patterns []string
		for range rapid.IntRange(1, 3).Draw(t, "filters") {
			tokens := rapid.SliceOfN(wild, 1, 5).Draw(t, "tokens")
			if rapid.Bool().Draw(t, "open") {
				tokens = append(tokens, ">")
			}
			filter := strings.Join(tokens, ".")
			filters = append(filters, filter)
			patterns = append(patterns, strings.NewReplacer(".", `\.`, "*", `[^.]+`, ">", `.+`).Replace(filter))
		}
		want := regexp.MustCompile(`\A(` + strings.Join(patterns, "|") + `)\z`).MatchString(subject)
		compiled, err := transport.NewFilters(filters)
		if err != nil || compiled.Match(subject) != want {
			t.Fatalf("%v matches %s: %v, want %v (%v)", filters, subject, !want, want, err)
		}
	})
}

func TestMatchExamples(t *testing.T) {
	for filter, want := range map[string]bool{"a.b.c": true, "a.*.c": true, "a.>": true, "*.*.*": true,
		"a.b": false, "a.b.c.>": false, "*.c": false} {
		filters, err := transport.NewFilters([]string{filter})
		if err != nil || filters.Match("a.b.c") != want {
			t.Errorf("%s matches a.b.c: %v, want %v (%v)", filter, !want, want, err)
		}
	}
}

func TestZeroFiltersMatchNothing(t *testing.T) {
	if (transport.Filters{}).Match("a") {
		t.Fatal("matched")
	}
}

func TestValidateMessages(t *testing.T) {
	ok := transport.Message{Subject: "a", Data: make([]byte, transport.MaxPayload)}
	if err := transport.ValidateMessages([]transport.Message{ok, ok}); err != nil {
		t.Fatal(err)
	}
	big := transport.Message{Subject: "a", Data: make([]byte, transport.MaxPayload+1)}
	if err := transport.ValidateMessages([]transport.Message{ok, big}); !errors.Is(err, transport.ErrPayload) {
		t.Fatalf("error %v", err)
	}
	if err := transport.ValidateMessages([]transport.Message{ok, {}}); !errors.Is(err, transport.ErrSubject) {
		t.Fatalf("error %v", err)
	}
}
