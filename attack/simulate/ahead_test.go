package simulate

import (
	"testing"

	"choir/protocol"
)

// TestAnnouncedValuesStay: in a session without faults, each node's sealed sum and the
// aggregator's record of it are announced before they are persisted, and a machine that
// changes what it announced is found out.
func TestAnnouncedValuesStay(t *testing.T) {
	setup := benchSetup()
	w, err := newWorld(setup, Profile{}, newChaos(setup.Seed, nil, true), seams{})
	if err != nil {
		t.Fatal(err)
	}
	w.run()
	if len(w.oracle.violations) > 0 {
		t.Fatal(w.oracle.violations[0])
	}
	if least := len(w.oracle.rounds) - 1; w.oracle.kept < least {
		t.Errorf("%d announced values were persisted in %d rounds", w.oracle.kept, least)
	}
	m, value := w.members[0], []byte("vector")
	m.ahead = nil
	w.oracle.checkAnnounced(m, &protocol.Effects{Ahead: [][]byte{value}})
	w.oracle.checkAnnounced(m, &protocol.Effects{Persist: []protocol.Record{{Key: "it", Value: value}}})
	if len(w.oracle.violations) > 0 {
		t.Fatalf("a value that stayed: %v", w.oracle.violations[0])
	}
	value[3]++
	w.oracle.checkAnnounced(m, &protocol.Effects{Persist: []protocol.Record{{Key: "it", Value: value}}})
	if len(w.oracle.violations) != 1 {
		t.Error("a machine that changes what it announced goes unnoticed")
	}
}
