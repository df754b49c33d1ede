//go:build !race

package simulate

import "testing"

// TestProfiles simulates sessions under every profile: none violates anything,
// and every kind of fault that the profile names did happen.
func TestProfiles(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 20
	}
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			n := seeds
			if p.Wide {
				n = max(1, n/40)
			}
			r := many(t, Batch{From: 1, Seeds: n, Profile: p.Name, Workers: 2})
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
			t.Logf("%d sessions, %d steps, %d rounds, %d void attempts, faults %v", r.Seeds, r.Steps, r.Rounds,
				r.Voids, r.Faults)
		})
	}
}

// odds are the probabilities by kind of fault.
func (p Profile) odds() map[string]float64 {
	return map[string]float64{"lose": p.Lose, "twice": p.Twice, "forge": p.Forge, "delay": p.Delay,
		"again": p.Again, "hole": p.Hole,
		"batch": p.Batch, "think": p.Think, "crash": p.Crash, "replay": p.Replay,
		"rewind": p.Rewind, "split": p.Split, "lie": p.Lie, "cut": p.Cut, "slow": p.Slow,
		"skew": p.Skew, "late": p.Late, "leave": p.Leave}
}
