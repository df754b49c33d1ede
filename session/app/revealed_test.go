package app

import (
	"slices"
	"testing"

	"choir/crypto/identity"
	"choir/protocol"
)

// TestSetsOfPredecessors: the places of a predecessor's parties are those that they have in the plan, and
// those that have left have none. What parties have of the records follows their weights.
func TestSetsOfPredecessors(t *testing.T) {
	plan := func(names ...byte) *protocol.Plan {
		p := new(protocol.Plan)
		for _, n := range names {
			key := identity.PublicKey{n}
			p.Members = append(p.Members, protocol.Member{Key: key, Role: protocol.RoleParty})
		}
		return p
	}
	last := plan(1, 2, 4)
	before := Revealed{Plan: plan(1, 3, 2), Set: []int{1, 2}, Counted: 2}
	if got := before.set(last); !slices.Equal(got, []int{1}) {
		t.Errorf("places %v, want that of the second party alone", got)
	}
	gone := Revealed{Plan: plan(1, 3, 2), Set: []int{1}, Counted: 1}
	if got := gone.set(last); got == nil || len(got) != 0 {
		t.Errorf("places %v, want none", got)
	}
	if got := (Revealed{Plan: plan(1, 3, 2)}).set(last); got != nil {
		t.Errorf("places %v of a sum whose parties are not known", got)
	}
	l := &PVI{Weights: []float64{0.5, 0.25, 0.25}}
	if got := l.share(last, Revealed{Set: []int{0, 1}, Counted: 2}); got != 0.75 {
		t.Errorf("a share of %v of the records, want .75", got)
	}
}
