package simulate

import (
	"fmt"
	"reflect"
	"testing"
)

// seeds is how many sessions the suite simulates per profile.
func seeds(t *testing.T) int {
	if testing.Short() {
		return 40
	}
	return 150
}

// TestProfiles simulates sessions under every profile: none violates anything,
// and every kind of fault that the profile names did happen.
func TestProfiles(t *testing.T) {
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			n := seeds(t)
			if p.Wide {
				n = 4
			}
			r := Many(1, n, p, 2)
			for _, f := range r.Failed {
				t.Errorf("seed %d: %s", f.Seed, f.Violation)
			}
			if r.Rounds < int64(n)/2 {
				t.Errorf("%d rounds settled in %d sessions", r.Rounds, n)
			}
			for kind, p := range p.odds() {
				if (p > 0) != (r.Faults[kind] > 0) {
					t.Errorf("%s: probability %v, happened %d times", kind, p, r.Faults[kind])
				}
			}
			t.Logf("%d sessions, %d steps, %d rounds, %d void attempts, faults %v", r.Seeds, r.Steps, r.Rounds, r.Voids, r.Faults)
		})
	}
}

// TestSameSeedSameRun: everything follows from the seed, to the last byte.
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
			traces[a.Trace] = true
		}
	}
	if len(traces) != 8*(len(Profiles())-1) {
		t.Errorf("%d different traces", len(traces))
	}
}

// TestScriptSameRun: a run's script gives the same run without the seed's dice.
func TestScriptSameRun(t *testing.T) {
	for _, p := range Profiles() {
		if p.Wide {
			continue
		}
		for seed := range uint64(8) {
			a := Run(seed, p)
			b := Replay(a.Setup, a.Script)
			if a.Trace != b.Trace || a.Steps != b.Steps || fmt.Sprint(a.Script) != fmt.Sprint(b.Script) {
				t.Fatalf("%s seed %d: %d steps, trace %x; by script %d steps, trace %x", p.Name, seed, a.Steps, a.Trace, b.Steps, b.Trace)
			}
		}
	}
}

// TestWorkersDontMatter: the report doesn't depend on who ran what.
func TestWorkersDontMatter(t *testing.T) {
	p, _ := ProfileByName("chaos")
	if a, b := Many(7, 11, p, 1), Many(7, 11, p, 3); !reflect.DeepEqual(a, b) || a.Steps == 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func BenchmarkChaos(b *testing.B) {
	p, _ := ProfileByName("chaos")
	for seed := uint64(0); b.Loop(); seed++ {
		Run(seed, p)
	}
}
