package result

import (
	"testing"

	"choir/crypto/identity"
	"choir/protocol"
)

// TestLostRound: figures are averages over the rounds whose reports were accepted.
func TestLostRound(t *testing.T) {
	key := identity.FromSeed([32]byte{1})
	p := &protocol.Plan{Rounds: 3, Members: []protocol.Member{{Name: "agg", Role: protocol.RoleAggregator,
		Key: key.Public()}}}
	var entries [][]byte
	for i, outcome := range []protocol.Outcome{protocol.OutcomeAccepted, protocol.OutcomeVoid,
		protocol.OutcomeRejected, protocol.OutcomeAccepted} {
		b, err := protocol.Bind(p).Sign(key, 0, &protocol.MixResult{Round: uint32(i + 1), Attempt: 1,
			Outcome: outcome, Suspect: protocol.Everyone})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, b)
	}
	dir := t.TempDir()
	if rounds, err := counted(dir, p); err != nil || rounds != 3 {
		t.Errorf("without a transcript %d rounds, %v", rounds, err)
	}
	for name, c := range map[string]struct {
		entries [][]byte
		rounds  int
		fails   bool
	}{
		"one lost":  {entries, 2, false},
		"all lost":  {entries[1:3], 0, true},
		"a forgery": {append([][]byte{append([]byte{}, entries[0][:len(entries[0])-1]...)}, entries...), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			one := Record{[]byte("plan"), protocol.MarshalTranscript(c.entries)}
			if err := WriteRecords(dir, []Record{one}); err != nil {
				t.Fatal(err)
			}
			if rounds, err := counted(dir, p); rounds != c.rounds || (err != nil) != c.fails {
				t.Errorf("%d rounds, %v", rounds, err)
			}
		})
	}
}
