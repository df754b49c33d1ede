package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Report sums up many sessions; its JSON form is that of `choir simulate
// --format json`.
type Report struct {
	SchemaVersion int            `json:"schema_version"`
	Profile       string         `json:"profile"`
	From          uint64         `json:"from"`
	Seeds         int            `json:"seeds"`                 // sessions simulated, from From on
	Interrupted   bool           `json:"interrupted,omitempty"` // fewer than the batch has
	Violations    int            `json:"violations"`            // sessions that violated an invariant
	Steps         int64          `json:"steps"`
	Rounds        int64          `json:"rounds"`
	Voids         int64          `json:"voids"`
	Faults        map[string]int `json:"faults"`
	Failed        []Failure      `json:"failed"` // the first sessions with a violation, at most maxFailed
}

// Failure is a session that violated an invariant.
type Failure struct {
	Seed      uint64 `json:"seed"`
	Profile   string `json:"profile"`
	Violation string `json:"violation"`
}

const maxFailed = 20

// AllProfiles means every profile but "wide", whose long vectors are slow
// to simulate.
const AllProfiles = "all"

// progressInterval is how often a batch reports its progress.
const progressInterval = 500 * time.Millisecond

// Batch is a number of sessions with consecutive seeds.
type Batch struct {
	From     uint64       // first seed
	Seeds    int          // number of sessions, at least 1
	Profile  string       // a profile's name or AllProfiles, which spreads the seeds over the profiles
	Shape    Shape        // of every session; the zero value: each draws its own
	Workers  int          // sessions simulated at a time, at least 1
	Progress func(Report) // called now and then with the report so far; may be nil
}

// Run simulates the sessions. The report is the same for any number of workers.
// When the context ends early, Run completes the sessions that have begun and
// returns the report on those and all before them; that is no error.
func (b Batch) Run(ctx context.Context) (Report, error) {
	profiles, err := profilesOf(b.Profile)
	if err != nil {
		return Report{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small worlds, all short-lived
	r := &run{Batch: b, profiles: profiles}
	r.total = Report{SchemaVersion: 1, Profile: b.Profile, From: b.From, Faults: map[string]int{},
		Failed: []Failure{}}
	var group sync.WaitGroup
	for range max(1, min(b.Workers, b.Seeds)) {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	r.total.Interrupted = r.total.Seeds < b.Seeds
	return r.total, nil
}

func profilesOf(name string) ([]Profile, error) {
	if name == AllProfiles {
		all := Profiles()
		return all[:len(all)-1], nil
	}
	p, ok := ProfileByName(name)
	if !ok {
		return nil, fmt.Errorf("no such profile of faults: %q", name)
	}
	return []Profile{p}, nil
}

// run is a batch in progress.
type run struct {
	Batch
	profiles []Profile

	mu       sync.Mutex
	next     int // sessions that have begun
	total    Report
	reported time.Time
}

func (r *run) work(ctx context.Context) {
	for ctx.Err() == nil {
		i, ok := r.begin()
		if !ok {
			return
		}
		p := r.profile(i)
		r.end(Run(r.From+uint64(i), p), p.Name)
	}
}

func (r *run) begin() (i int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i = r.next
	if i >= r.Seeds {
		return 0, false
	}
	r.next++
	return i, true
}

// profile is the profile of session i: the k-th of n profiles has the sessions
// from Seeds*k/n on.
func (r *run) profile(i int) Profile {
	k, n := 0, len(r.profiles)
	for r.Seeds*(k+1)/n <= i {
		k++
	}
	p := r.profiles[k]
	p.Shape = r.Shape
	return p
}

func (r *run) end(result Result, profile string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.add(result, profile)
	if r.Progress != nil && time.Since(r.reported) >= progressInterval {
		r.reported = time.Now()
		r.Progress(r.total.clone())
	}
}

func (t *Report) clone() Report {
	c := *t
	c.Faults = maps.Clone(t.Faults)
	c.Failed = slices.Clone(t.Failed)
	return c
}

func (t *Report) add(r Result, profile string) {
	t.Seeds++
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

// fail keeps the failures in order of their seeds; workers may end out of order.
func (t *Report) fail(f Failure) {
	bySeed := func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) }
	i, _ := slices.BinarySearchFunc(t.Failed, f, bySeed)
	t.Failed = slices.Insert(t.Failed, i, f)
	t.Failed = t.Failed[:min(len(t.Failed), maxFailed)]
}
