package transport

import (
	"slices"
	"strings"
)

// Index finds, for a subject, who has a filter that matches it, in time that grows
// with the subject's tokens and the finds, not with the filters that don't match. The zero
// value is empty. It isn't for concurrent use.
type Index[T comparable] struct{ root branch[T] }

// branch is where filters stand that begin with the same tokens.
type branch[T comparable] struct {
	next map[string]*branch[T] // by the token that follows, "*" among them
	here []T                   // whose filters end here
	rest []T                   // whose filters end here with ">"
}

// Add enters all filters, which must be valid, for one who is found by any of them.
func (x *Index[T]) Add(who T, filters []string) {
	for _, filter := range filters {
		b := &x.root
		tokens := strings.Split(filter, ".")
		open := tokens[len(tokens)-1] == ">"
		if open {
			tokens = tokens[:len(tokens)-1]
		}
		for _, token := range tokens {
			if b.next == nil {
				b.next = map[string]*branch[T]{}
			}
			if b.next[token] == nil {
				b.next[token] = new(branch[T])
			}
			b = b.next[token]
		}
		if open {
			b.rest = append(b.rest, who)
		} else {
			b.here = append(b.here, who)
		}
	}
}

// Remove takes out what Add entered with the same filters.
func (x *Index[T]) Remove(who T, filters []string) {
	for _, filter := range filters {
		x.root.remove(who, strings.Split(filter, "."))
	}
}

func (b *branch[T]) remove(who T, tokens []string) {
	switch {
	case len(tokens) == 0:
		b.here = without(b.here, who)
	case tokens[0] == ">":
		b.rest = without(b.rest, who)
	case b.next[tokens[0]] != nil:
		n := b.next[tokens[0]]
		if n.remove(who, tokens[1:]); len(n.next) == 0 && len(n.here) == 0 && len(n.rest) == 0 {
			delete(b.next, tokens[0])
		}
	}
}

func without[T comparable](list []T, who T) []T {
	if i := slices.Index(list, who); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// Match calls found for everybody whose filters match a valid subject, once for each
// filter that does.
func (x *Index[T]) Match(subject string, found func(T)) { x.root.match(subject, found) }

func (b *branch[T]) match(subject string, found func(T)) {
	for _, who := range b.rest { // a token follows: the subject isn't at its end
		found(who)
	}
	if b.next == nil {
		return
	}
	token, rest, more := strings.Cut(subject, ".")
	for _, key := range [2]string{token, "*"} {
		switch n := b.next[key]; {
		case n == nil:
		case more:
			n.match(rest, found)
		default:
			for _, who := range n.here {
				found(who)
			}
		}
	}
}
