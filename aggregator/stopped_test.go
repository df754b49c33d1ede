package aggregator

import (
	"testing"

	"choir/protocol"
)

// TestStoppedProcess: an aggregator whose process was stopped for longer than it waits does not give up
// before it has had that time to read what members have sent, and then it does.
func TestStoppedProcess(t *testing.T) {
	r := newRig(t)
	r.a.cfg.GiveUpMS = 20_000
	r.Session.Plan.NotAfter += 1 << 20
	r.Now += int64(r.Session.Plan.DeadlineMS)
	wake := r.Step(protocol.Tick{}).Wake
	if wake != r.a.seen+20_000 {
		t.Fatalf("it wakes after %d ms", wake-r.a.seen)
	}
	r.Now = wake + 60_000
	eff := r.Step(protocol.Tick{})
	if eff.Done || eff.Wake != r.Now+20_000 {
		t.Fatalf("done %t (%v) after it was stopped, the next tick in %d ms", eff.Done, eff.Err, eff.Wake-r.Now)
	}
	r.Now = eff.Wake
	if eff = r.Step(protocol.Tick{}); protocol.ClassOf(eff.Err) != protocol.ClassQuorum {
		t.Errorf("it does not give up: %v", eff.Err)
	}
}
