package compute_test

import (
	"testing"

	"choir/attack/simulate/steptest"
	"choir/protocol"
)

// TestStepCorpus checks that the fuzz corpus is not empty, and that the recorded session of three
// rounds leads the machine to its end.
func TestStepCorpus(t *testing.T) {
	if p := steptest.Corpus(t, protocol.RoleCompute); p.Reveals != 3 || !p.Done {
		t.Errorf("the recorded session leads it to %+v", p)
	}
}

// FuzzStep drives the machine with arbitrary programs.
func FuzzStep(f *testing.F) { steptest.Fuzz(f, protocol.RoleCompute) }
