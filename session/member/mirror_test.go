package member_test

import (
	"os"
	"testing"

	"choir/host"
	"choir/protocol"
)

// TestMirrorSavesTheSession: the machines of a compute node and of a party are lost in the middle of a
// session; with the mirrors of their stores it goes on under the same plan, each attempt charged once.
func TestMirrorSavesTheSession(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	lost := []string{"node-a", "party-b"}
	plan := c.first(ten, members...)
	c.run(plan, 2, members...)
	for _, name := range lost {
		if err := host.Mirror(c.path(name+".db"), c.path(name+".mirror")); err != nil {
			t.Fatal(err)
		}
	}
	c.run(plan, 5, members...)
	c.stores = map[string]string{}
	for _, name := range lost {
		if err := os.Rename(c.path(name+".db"), c.path(name+".old")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(c.path(name+".db.values"), c.path(name+".old.values")); err != nil {
			t.Fatal(err)
		}
		if err := host.TakeOver(c.path(name + ".mirror")); err != nil {
			t.Fatal(err)
		}
		c.stores[name] = c.path(name + ".mirror")
	}
	c.run(plan, 0, members...)
	c.verified(plan, 1, 10)
	if _, epsilon := c.spent("party-a"); !(epsilon > 0 && epsilon <= 8) {
		t.Errorf("epsilon %v", epsilon)
	}
	if err := os.Rename(c.path("party-b.mirror"), c.path("party-b.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(c.path("party-b.mirror.values"), c.path("party-b.db.values")); err != nil {
		t.Fatal(err)
	}
	if count, epsilon := c.spent("party-b"); len(count) != 1 || !(epsilon > 0 && epsilon <= 8) {
		t.Errorf("%v, epsilon %v", count, epsilon)
	}
	_, err := host.Open(c.path("party-b.old"))
	c.refused(err, protocol.ClassInput, "can't be reached")
}
