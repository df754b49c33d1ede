package transport

import (
	"fmt"
	"strings"
)

// Limits of a subject.
const (
	// MaxTokens is the largest number of tokens in a subject or filter; the smallest is 1.
	MaxTokens = 16
	// MaxSubject is the longest subject or filter, in bytes.
	MaxSubject = 512
)

// ValidateSubject accepts 1 to MaxTokens tokens joined by dots, each a non-empty string of
// [A-Za-z0-9_-], of at most MaxSubject bytes in all. It returns ErrSubject for any other.
func ValidateSubject(subject string) error {
	return validate(subject, false)
}

// ValidateFilter accepts what ValidateSubject accepts, and NATS's wildcards: a token "*" matches
// exactly one token, a last token ">" one or more.
func ValidateFilter(filter string) error {
	return validate(filter, true)
}

func validate(s string, wildcards bool) error {
	if len(s) > MaxSubject {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrSubject, len(s), MaxSubject)
	}
	tokens := strings.Split(s, ".")
	if len(tokens) > MaxTokens {
		return fmt.Errorf("%w: %q has %d tokens, at most %d", ErrSubject, s, len(tokens), MaxTokens)
	}
	for i, token := range tokens {
		wild := wildcards && (token == "*" || token == ">" && i == len(tokens)-1)
		if !wild && !isWord(token) {
			return fmt.Errorf("%w: token %d of %q", ErrSubject, i+1, s)
		}
	}
	return nil
}

// isWord reports whether the token is non-empty and made of [A-Za-z0-9_-] only.
func isWord(token string) bool {
	for i := range len(token) {
		c := token[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && !('0' <= c && c <= '9') && c != '_' && c != '-' {
			return false
		}
	}
	return token != ""
}

func payloadError(m Message) error {
	return fmt.Errorf("%w: %s: %d bytes, at most %d", ErrPayload, m.Subject, len(m.Data), MaxPayload)
}

// Filters is a compiled set of filters. The zero value matches nothing.
type Filters struct {
	tokens [][]string
}

// NewFilters validates and compiles filters. It returns ErrSubject for a malformed filter and for
// none.
func NewFilters(filters []string) (Filters, error) {
	if len(filters) == 0 {
		return Filters{}, fmt.Errorf("%w: a subscription needs a filter", ErrSubject)
	}
	tokens := make([][]string, len(filters))
	for i, filter := range filters {
		if err := ValidateFilter(filter); err != nil {
			return Filters{}, err
		}
		tokens[i] = strings.Split(filter, ".")
	}
	return Filters{tokens: tokens}, nil
}

// Match reports whether at least one filter matches the subject, which must be valid.
func (f Filters) Match(subject string) bool {
	for _, tokens := range f.tokens {
		if match(tokens, subject) {
			return true
		}
	}
	return false
}

func match(filter []string, subject string) bool {
	for i, want := range filter {
		if want == ">" {
			return true
		}
		token, rest, more := strings.Cut(subject, ".")
		if want != "*" && want != token {
			return false
		}
		if !more {
			return i == len(filter)-1
		}
		subject = rest
	}
	return false
}
