package simulate

import (
	"strings"
)

// Result is the outcome of one simulated session.
type Result struct {
	Seed       uint64
	Setup      Setup
	Steps      int // machine steps
	Violations []Violation
	Faults     map[string]int // faults that happened, by kind
	Script     []Fault        // the same faults, in the order in which they happened
	Trace      uint64         // a hash over every step's input and effects: equal for equal runs
	Rounds     int            // settled rounds
	Voids      int            // void attempts
}

// Run simulates one session, which the seed and the profile determine.
func Run(seed uint64, profile Profile) Result { return runSeams(seed, profile, seams{}) }

func runSeams(seed uint64, profile Profile, s seams) Result {
	return simulate(draw(seed, profile), profile, newChaos(seed, nil, false), s, nil)
}

func replaySeams(setup Setup, script []Fault, s seams) Result {
	return simulate(setup, Profile{Name: "script"}, newChaos(setup.Seed, script, true), s, nil)
}

func simulate(setup Setup, profile Profile, c *chaos, s seams, story *strings.Builder) (r Result) {
	r = Result{Seed: setup.Seed, Setup: setup}
	w, err := newWorld(setup, profile, c, s)
	if err != nil {
		r.Violations = []Violation{{Rule: "bad setup", What: err.Error()}}
		return r
	}
	w.story = story
	defer func() {
		if p := recover(); p != nil {
			w.oracle.violate("panic", "%v", p)
		}
		r.Steps = w.steps
		r.Trace = w.trace
		r.Violations = w.oracle.violations
		r.Faults = c.counts
		r.Script = c.happens
		r.Rounds = len(w.oracle.rounds) - 1
		r.Voids = len(w.oracle.voided)
	}()
	w.run()
	return r
}
