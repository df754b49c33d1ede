package terms

import (
	"errors"
	"strings"
	"testing"
)

// TestErrorOfNoSection: an error about a key of a section that the file lacks, such as the weights of a
// successor whose parties have changed, is located like any other.
func TestErrorOfNoSection(t *testing.T) {
	e := &fileError{"next.toml", &PlanConfig{},
		errors.New("learning.weights is missing: the parties have changed")}
	if got := e.Error(); !strings.Contains(got, "next.toml: [learning] weights is missing") {
		t.Error(got)
	}
}
