package cputime_test

import (
	"testing"
	"time"

	"choir/internal/cputime"
)

// TestUsed works until the processor time has grown; one that stands still fails by the test's timeout.
func TestUsed(t *testing.T) {
	first := cputime.Used()
	for x := 1; cputime.Used() < first+20*time.Millisecond; x++ {
		_ = x * x
	}
}
