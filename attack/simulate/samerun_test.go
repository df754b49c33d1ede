//go:build !race

package simulate

import (
	"fmt"
	"reflect"
	"testing"
)

// TestSameSeedSameRun: everything follows from the seed, to the last byte, and a run's script gives the
// same run without the seed's dice.
func TestSameSeedSameRun(t *testing.T) {
	traces := map[uint64]bool{}
	for _, p := range Profiles() {
		if p.Wide {
			continue
		}
		for seed := range uint64(8) {
			a, b := Run(seed, p), Run(seed, p)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s seed %d: two runs, traces %x and %x", p.Name, seed, a.Trace, b.Trace)
			}
			c := replay(a.Setup, a.Script)
			if a.Trace != c.Trace || a.Steps != c.Steps || fmt.Sprint(a.Script) != fmt.Sprint(c.Script) {
				t.Fatalf("%s seed %d: %d steps, trace %x; by script %d steps, trace %x", p.Name, seed, a.Steps, a.Trace,
					c.Steps, c.Trace)
			}
			traces[a.Trace] = true
		}
	}
	if len(traces) != 8*(len(Profiles())-1) {
		t.Errorf("%d different traces", len(traces))
	}
}
