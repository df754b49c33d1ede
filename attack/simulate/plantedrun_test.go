//go:build !race

package simulate

import (
	"strings"
	"testing"
)

// TestPlantedBugs: every planted bug is found, and its session shrinks to a few
// faults that still show it.
func TestPlantedBugs(t *testing.T) {
	bugs := plantedBugs()
	if len(bugs) < 10 {
		t.Fatalf("only %d bugs", len(bugs))
	}
	for _, b := range bugs {
		t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) { find(t, b) })
	}
}
