package simulate

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
)

// Result is what came of one simulated session.
type Result struct {
	Seed       uint64
	Setup      Setup
	Steps      int // machine steps
	Violations []Violation
	Faults     map[string]int // faults that happened, by kind
	Script     []Fault        // the same, one by one, in the order in which they came up
	Trace      uint64         // a hash over every step's input and effects: equal for equal runs
	Rounds     int            // rounds that were settled
	Voids      int            // attempts that were void
}

// Run simulates one session: everything follows from the seed and the profile.
func Run(seed uint64, profile Profile) Result { return runSeams(seed, profile, seams{}) }

func runSeams(seed uint64, profile Profile, s seams) Result {
	return simulate(draw(seed, profile), profile, newChaos(seed, nil, false), s, nil)
}

// Replay simulates one session with exactly the faults of a script.
func Replay(setup Setup, script []Fault) Result { return replaySeams(setup, script, seams{}) }

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
		r.Steps, r.Violations, r.Faults, r.Script, r.Trace = w.steps, w.oracle.violations, c.counts, c.happens, w.trace
		r.Rounds, r.Voids = len(w.oracle.rounds)-1, len(w.oracle.voided)
	}()
	w.run()
	return r
}

// Report is what many sessions come to; its JSON form is that of `choir
// simulate --format json`.
type Report struct {
	SchemaVersion int            `json:"schema_version"`
	Profile       string         `json:"profile"`
	From          uint64         `json:"from"`
	Seeds         int            `json:"seeds"`
	Violations    int            `json:"violations"` // sessions in which an invariant didn't hold
	Steps         int64          `json:"steps"`
	Rounds        int64          `json:"rounds"`
	Voids         int64          `json:"voids"`
	Faults        map[string]int `json:"faults"`
	Failed        []Failure      `json:"failed"` // the first of them, at most maxFailed
}

// Failure is a session in which an invariant didn't hold.
type Failure struct {
	Seed      uint64 `json:"seed"`
	Profile   string `json:"profile"`
	Violation string `json:"violation"`
}

const maxFailed = 20

// Many simulates the sessions of n seeds from the given one, on so many
// workers. The report is the same for any number of workers.
func Many(from uint64, n int, profile Profile, workers int) Report {
	total := Report{SchemaVersion: 1, Profile: profile.Name, From: from, Seeds: n, Faults: map[string]int{}, Failed: []Failure{}}
	workers = max(1, min(workers, n))
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small worlds, none of which lives long
	parts := make([]Report, workers)
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() {
			lo, hi := from+uint64(n*k/workers), from+uint64(n*(k+1)/workers)
			parts[k].Faults = map[string]int{}
			for seed := lo; seed < hi; seed++ {
				parts[k].take(Run(seed, profile), profile.Name)
			}
		})
	}
	group.Wait()
	for _, p := range parts { // in order of seed
		total.add(p)
	}
	return total
}

func (t *Report) take(r Result, profile string) {
	t.Steps += int64(r.Steps)
	t.Rounds += int64(r.Rounds)
	t.Voids += int64(r.Voids)
	for kind, n := range r.Faults {
		t.Faults[kind] += n
	}
	if len(r.Violations) > 0 {
		t.Violations++
		t.fail(Failure{Seed: r.Seed, Profile: profile, Violation: r.Violations[0].String()})
	}
}

func (t *Report) fail(f Failure) {
	if len(t.Failed) < maxFailed {
		t.Failed = append(t.Failed, f)
	}
}

func (t *Report) add(p Report) {
	t.Steps += p.Steps
	t.Rounds += p.Rounds
	t.Voids += p.Voids
	t.Violations += p.Violations
	for kind, n := range p.Faults {
		t.Faults[kind] += n
	}
	for _, f := range p.Failed {
		t.fail(f)
	}
}

// Profile "all" of ManyProfiles runs every profile but the wide one in turn.
const allProfiles = "all"

// ManyProfiles is Many for a profile's name, or "all": the seeds are spread over
// every profile but "wide", whose long vectors take long.
func ManyProfiles(from uint64, n int, name string, workers int) (Report, error) {
	if name != allProfiles {
		p, ok := ProfileByName(name)
		if !ok {
			return Report{}, fmt.Errorf("no such profile of faults: %q", name)
		}
		return Many(from, n, p, workers), nil
	}
	list := Profiles()
	list = list[:len(list)-1]
	total := Report{SchemaVersion: 1, Profile: name, From: from, Seeds: n, Faults: map[string]int{}, Failed: []Failure{}}
	for i, p := range list {
		lo, hi := n*i/len(list), n*(i+1)/len(list)
		total.add(Many(from+uint64(lo), hi-lo, p, workers))
	}
	return total, nil
}
