package aggregator

import (
	"fmt"
	"strings"
)

// maxNamed bounds the names in a message.
const maxNamed = 10

// place is where the session is.
func (a *Aggregator) place() string {
	if a.at.round == 0 {
		return "before the first round"
	}
	return fmt.Sprintf("round %d attempt %d", a.at.round, a.at.number)
}

// awaited tells for whom the aggregator waits: members that have not joined, then parties without a
// contribution, then nodes by what they have not sent.
func (a *Aggregator) awaited() string {
	if a.at.round == 0 {
		return a.without("not joined", 0, a.parties+a.nodes, func(i uint32) bool { return a.links[i] != nil })
	}
	first, last := a.parties, a.parties+a.nodes
	var parts []string
	if !a.allConfirmed() {
		return a.without("no confirm from", first, last, func(i uint32) bool {
			return a.confirm.confirmed[int(i)-a.parties]
		})
	}
	if len(a.at.holds) < a.nodes {
		parts = append(parts, a.without("no contribution from", 0, first, func(i uint32) bool {
			_, ok := a.at.manifests[i]
			return ok
		}), a.without("no list from", first, last, func(i uint32) bool { return a.at.holds[i] != nil }))
	} else if len(a.at.agrees) < a.nodes {
		parts = append(parts, a.without("no agreement from", first, last, func(i uint32) bool {
			return a.at.agrees[i] != nil
		}))
	} else {
		parts = append(parts, a.without("no partial sum from", first, last, func(i uint32) bool {
			p := a.at.partials[i]
			return p != nil && p.head != nil && p.whole()
		}))
	}
	return strings.Trim(strings.Join(parts, "; "), "; ")
}

// without names the members from first to before last that have not done something.
func (a *Aggregator) without(what string, first, last int, has func(uint32) bool) string {
	var names []string
	for i := first; i < last; i++ {
		if !has(uint32(i)) {
			names = append(names, a.s.Name(uint32(i)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return what + " " + strings.Join(names, ", ")
}
