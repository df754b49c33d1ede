package workshop

import "testing"

// TestUpdates: the authors' curves stop after 310 communications of 10 clients at epsilon
// 0.5 on distribution A, that is one update after the budget is exceeded: 30 are within it.
func TestUpdates(t *testing.T) {
	if n := updates(0.5, 1e-4); n != 30 {
		t.Errorf("%d updates", n)
	}
	if !within(30, 0.5, 1e-4) || within(31, 0.5, 1e-4) || updates(1e-9, 1e-4) != 0 {
		t.Error("the budget's edge")
	}
	tight, replaced, err := accounts(30, 1e-4)
	if err != nil || !(tight < replaced && tight < 0.5) {
		t.Errorf("%v and %v, %v", tight, replaced, err)
	}
}
