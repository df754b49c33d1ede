package natsbus

import (
	"fmt"
	"slices"
	"strings"

	"choir/transport"
)

// brokerFilters turns a subscription's filters into ones that the broker accepts: within the
// prefix, which ends with a dot, and without two that overlap. They may match more than the
// given ones; the subscription drops the rest. It returns transport.ErrSubject for a filter that
// matches nothing under the prefix.
func brokerFilters(filters []string, prefix string) ([]string, error) {
	var disjoint [][]string
	for _, filter := range filters {
		below := strings.Split(strings.TrimSuffix(prefix, "."), ".")
		tokens, ok := confine(strings.Split(filter, "."), below)
		if !ok {
			return nil, fmt.Errorf("%w: filter %s matches nothing under %s", transport.ErrSubject, filter, prefix)
		}
		disjoint = merge(disjoint, tokens)
	}
	joined := make([]string, len(disjoint))
	for i, tokens := range disjoint {
		joined[i] = strings.Join(tokens, ".")
	}
	return joined, nil
}

// confine returns the filter that matches what filter matches below prefix.
func confine(filter, prefix []string) ([]string, bool) {
	for i, want := range prefix {
		if i == len(filter) {
			return nil, false
		}
		if filter[i] == ">" {
			return append(slices.Clone(prefix), ">"), true
		}
		if filter[i] != "*" && filter[i] != want {
			return nil, false
		}
	}
	if len(filter) == len(prefix) {
		return nil, false
	}
	return append(slices.Clone(prefix), filter[len(prefix):]...), true
}

// merge adds filter to disjoint filters. Overlapping ones are replaced by one that covers them,
// which may overlap others in turn.
func merge(disjoint [][]string, filter []string) [][]string {
	for i, other := range disjoint {
		if overlap(other, filter) {
			rest := slices.Delete(slices.Clone(disjoint), i, i+1)
			return merge(rest, cover(other, filter))
		}
	}
	return append(disjoint, filter)
}

// overlap reports whether a subject can match both filters.
func overlap(a, b []string) bool {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == ">" || b[i] == ">" {
			return true
		}
		if a[i] != b[i] && a[i] != "*" && b[i] != "*" {
			return false
		}
	}
	return len(a) == len(b)
}

// cover returns the narrowest single filter that matches all that a or b matches.
func cover(a, b []string) []string {
	var tokens []string
	for i := 0; i < len(a) && i < len(b); i++ {
		switch {
		case a[i] == ">" || b[i] == ">":
			return append(tokens, ">")
		case a[i] == b[i]:
			tokens = append(tokens, a[i])
		default:
			tokens = append(tokens, "*")
		}
	}
	if len(a) != len(b) {
		tokens[len(tokens)-1] = ">"
	}
	return tokens
}
