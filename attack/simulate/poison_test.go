package simulate

import "testing"

// TestPoison: without a check of vectors one party can move a coordinate by more than its bound,
// and by at most twice what all parties together may.
func TestPoison(t *testing.T) {
	times, err := Poison()
	if err != nil || !(times > 1 && times <= 2*4) {
		t.Errorf("%v times a party's bound: %v", times, err)
	}
}

// TestBurn: void attempts cost every party something, and no more than the plan allows.
func TestBurn(t *testing.T) {
	charged, allowed, err := Burn()
	if err != nil || charged < 1 || charged > allowed {
		t.Errorf("%d attempts of %d: %v", charged, allowed, err)
	}
}
