package workshop

import (
	"testing"

	"choir/privacy"
)

// TestUpdates: the authors' curves stop after 310 communications of 10 clients at epsilon
// 0.5 on distribution A, that is one update after the budget is exceeded: 30 are within it.
func TestUpdates(t *testing.T) {
	if n := updates(0.5, 1e-4); n != 30 {
		t.Errorf("%d updates", n)
	}
	if !within(30, 0.5, 1e-4) || within(31, 0.5, 1e-4) || updates(1e-9, 1e-4) != 0 {
		t.Error("the budget's edge")
	}
	tight, replaced, err := accounts(sigma, rate, steps*30, 1e-4)
	if err != nil || !(tight < replaced && tight < 0.5) {
		t.Errorf("%v and %v, %v", tight, replaced, err)
	}
}

// TestNoiseWithin: the noise is within the budget by the authors' accountant, hardly more
// than needed, and Choir's accountant agrees that it is enough.
func TestNoiseWithin(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{0.5, 1e-4}, {1, 1e-3}} {
		noise := noiseWithin(c.epsilon, c.delta, 200)
		spent, _ := privacy.MomentsEpsilon(noise, ourRate, 200, c.delta, orders)
		less, _ := privacy.MomentsEpsilon(noise*0.999, ourRate, 200, c.delta, orders)
		tight, _, err := accounts(noise, ourRate, 200, c.delta)
		if err != nil || spent > c.epsilon || less <= c.epsilon || tight > spent {
			t.Errorf("noise %v spends %v, a little less %v, by Choir's accountant %v, %v", noise, spent,
				less, tight, err)
		}
	}
}
