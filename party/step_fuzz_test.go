package party_test

import (
	"testing"

	"choir/attack/simulate/steptest"
	"choir/protocol"
)

// TestStepCorpus: the fuzz corpus is not empty, and the recorded session of three rounds leads
// the machine to its end.
func TestStepCorpus(t *testing.T) {
	if p := steptest.Corpus(t, protocol.RoleParty); p.Settled != 3 || !p.Done {
		t.Errorf("the recorded session leads it to %+v", p)
	}
}

// FuzzStep steps the machine with arbitrary programs.
func FuzzStep(f *testing.F) { steptest.Fuzz(f, protocol.RoleParty) }
