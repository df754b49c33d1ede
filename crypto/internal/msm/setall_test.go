package msm

import (
	"math/rand/v2"
	"testing"

	"filippo.io/edwards25519"
)

// TestSetAll: many at a time are what they are one by one.
func TestSetAll(t *testing.T) {
	r := rand.NewChaCha8([32]byte{30})
	for n := range 12 {
		from, got := make([]*edwards25519.Point, n), make([]Point, n)
		for i := range from {
			from[i] = point(t, r, i)
		}
		SetAll(got, from)
		for i := range from {
			if got[i] != *new(Point).Set(from[i]) {
				t.Errorf("point %d of %d is another", i, n)
			}
		}
	}
}

// TestNoPoint: the zero value is none.
func TestNoPoint(t *testing.T) {
	if _, err := new(Point).Edwards(); err == nil {
		t.Error("a point that was never set is one")
	}
}
