package transport

import (
	"slices"
	"strings"
)

// Index finds the subscribers with a filter that matches a subject, in time that grows with the
// subject's tokens and the number found, not with the filters that do not match. The zero value
// is empty. It is not for concurrent use.
type Index[T comparable] struct{ root branch[T] }

// branch has the filters that begin with the same tokens.
type branch[T comparable] struct {
	next map[string]*branch[T] // by the token that follows, "*" among them
	here []T                   // subscribers of filters that end here
	rest []T                   // subscribers of filters that end here with ">"
}

// Add adds a subscriber under all of its filters, which must be valid.
func (x *Index[T]) Add(subscriber T, filters []string) {
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
			b.rest = append(b.rest, subscriber)
		} else {
			b.here = append(b.here, subscriber)
		}
	}
}

// Remove undoes Add with the same filters.
func (x *Index[T]) Remove(subscriber T, filters []string) {
	for _, filter := range filters {
		x.root.remove(subscriber, strings.Split(filter, "."))
	}
}

func (b *branch[T]) remove(subscriber T, tokens []string) {
	switch {
	case len(tokens) == 0:
		b.here = without(b.here, subscriber)
	case tokens[0] == ">":
		b.rest = without(b.rest, subscriber)
	case b.next[tokens[0]] != nil:
		n := b.next[tokens[0]]
		if n.remove(subscriber, tokens[1:]); len(n.next) == 0 && len(n.here) == 0 && len(n.rest) == 0 {
			delete(b.next, tokens[0])
		}
	}
}

func without[T comparable](list []T, subscriber T) []T {
	if i := slices.Index(list, subscriber); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// Match calls found with the subscribers whose filters match a valid subject, once for each
// filter that does.
func (x *Index[T]) Match(subject string, found func(T)) { x.root.match(subject, found) }

func (b *branch[T]) match(subject string, found func(T)) {
	for _, subscriber := range b.rest { // at least one token follows
		found(subscriber)
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
			for _, subscriber := range n.here {
				found(subscriber)
			}
		}
	}
}
