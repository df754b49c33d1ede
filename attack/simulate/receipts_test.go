package simulate

import (
	"testing"

	"choir/protocol"
)

// TestReceiptsShareSignatures: where nodes take several messages at a time, receipts
// leave under common roots, and fewer signatures than receipts are made.
func TestReceiptsShareSignatures(t *testing.T) {
	receipts, roots, largest := 0, map[[64]byte]bool{}, uint32(0)
	s := after(protocol.RoleCompute, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		for _, o := range eff.Send {
			e, msg, err := m.w.session.Receive(o.Data)
			if r, ok := msg.(*protocol.Receipt); err == nil && ok {
				receipts++
				roots[[64]byte(e.Sig)] = true
				largest = max(largest, r.Count)
			}
		}
	})
	chaos, ok := ProfileByName("chaos")
	if !ok {
		t.Fatal("no such profile")
	}
	for seed := range uint64(40) {
		if r := runSeams(seed, chaos, s); len(r.Violations) > 0 {
			t.Fatal(r.Violations)
		}
	}
	if largest < 3 || len(roots) >= receipts || len(roots) == 0 {
		t.Errorf("%d receipts under %d roots, at most %d under one", receipts, len(roots), largest)
	}
}
