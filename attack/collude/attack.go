package collude

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"choir/protocol"
)

// Verdict is an attack's finding about a promise.
type Verdict string

// Verdicts.
const (
	Held        Verdict = "held"         // the attack stayed within the promise
	Broke       Verdict = "broke"        // it did not: the promise is false, or, for a control, the attack works
	NotPromised Verdict = "not-promised" // the plan promises nothing against this coalition or attack
	Undecided   Verdict = "undecided"    // the attack did not run to its end, or saw nothing it could judge
)

// Outcome is one verdict.
type Outcome struct {
	Scenario  string       `json:"scenario"`
	Coalition string       `json:"coalition"`
	Given     string       `json:"given"` // without members that the attack or its control adds
	Promise   string       `json:"promise"`
	Unit      string       `json:"unit"`     // of claimed and measured
	Claimed   *float64     `json:"claimed"`  // the most that the promise allows; null: no bound
	Measured  *float64     `json:"measured"` // what the attack shows at least; null: nothing
	Verdict   Verdict      `json:"verdict"`
	Control   bool         `json:"control"`          // a positive control, which must break
	Reason    string       `json:"reason,omitempty"` // why the claim is far above what was measured
	Detail    *Measurement `json:"detail,omitempty"`
	Story     []string     `json:"story,omitempty"`
	Repeat    []string     `json:"repeat,omitempty"` // commands that tell single sessions step by step
	Seconds   float64      `json:"seconds"`
}

// Attack is an adversary. One of one's own is a type with these methods, in Options.Own.
type Attack interface {
	Info() Info
	// Run attacks with a coalition. With control it attacks where it must succeed. The
	// outcome's Scenario, Control and Seconds are filled in.
	Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error)
}

// Info describes an attack.
type Info struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"` // leak, lie or break
	What     string  `json:"what"`
	Needs    string  `json:"needs"`   // from the coalition
	Promise  string  `json:"promise"` // a sentence of docs/threat-model.md
	Expected Verdict `json:"expected"`
	Control  string  `json:"control"` // where it must succeed
}

// Catalogue is every attack of this package.
func Catalogue() []Attack {
	return []Attack{rank{}, epsilon{}, canaries{}, membership{}, isolation{withheld}, isolation{unlisted},
		isolation{late}, differences{}, retries{}, restored{}, noisyFactors{}, reconstruction{}, guesses{},
		traffic{}, timing{}, lies{}, unseen{}, faults{}, poison{}, stop{}, burn{}, reports{}}
}

// Options are those of a Run.
type Options struct {
	Target    Target
	Coalition Coalition
	Scenarios []string // ids or kinds; empty: all
	Runs      int      // repetitions of a sum, the coordinates of one session; 0: defaultRuns
	// Time is the processor time after which attacks take as few repetitions as they can. At ten times as
	// much on the clock those that are left are undecided. 0: no limit.
	Time time.Duration
	Seed uint64 // of the attacks' own choices, not of keys or noise
	// Records are real ones, all of as many numbers, for membership; nil: it draws its own.
	Records  [][]float64
	Lab      Lab
	Own      []Attack
	Out      string                           // folder for the joint view and the result; empty: none
	Progress func(done, all int, what string) // may be nil

	used func() time.Duration // the processor time of this process; nil: the machine's count
}

// minRuns is the least with which a measurement can decide. With defaultRuns the limits are within a tenth
// of the truth.
const minRuns, defaultRuns, maxRuns = 64, 1 << 16, 1 << 20

// mostElements bounds the numbers that the parties of a session send in all, and so its memory and time.
// Execute lowers Runs to it.
const mostElements = 1 << 23

// Check names an option that is out of range.
func (o *Options) Check() error {
	if err := o.Target.Check(o.Coalition); err != nil {
		return err
	}
	if o.Runs != 0 && (o.Runs < minRuns || o.Runs > maxRuns) {
		return protocol.Fail(protocol.ClassInput, "runs: %d isn't 0 or in %d..%d", o.Runs, minRuns, maxRuns)
	}
	some, err := o.selected()
	if err != nil || o.Records == nil {
		return err
	}
	if !slices.ContainsFunc(some, func(a Attack) bool { return a.Info().ID == membership{}.Info().ID }) {
		return protocol.Fail(protocol.ClassInput,
			"data: only membership attacks records, and --scenario leaves it out: add it")
	}
	return checkRecords(o.Records)
}

// runs is the number of repetitions: defaultRuns if none is given, and no more than memory allows.
func (o *Options) runs() int {
	n := o.Runs
	if n == 0 {
		n = defaultRuns
	}
	return min(n, max(minRuns, mostElements/(o.Target.Parties*o.Target.Rounds)))
}

func square(x float64) float64 { return x * x }

func (o *Options) selected() (some []Attack, err error) {
	var all []Attack
	for _, a := range Catalogue() {
		if o.Target.fits(a) {
			all = append(all, a)
		}
	}
	all = append(all, o.Own...)
	if len(o.Scenarios) == 0 {
		return all, nil
	}
	var ids []string
	for _, a := range all {
		i := a.Info()
		ids = append(ids, i.ID)
		if slices.Contains(o.Scenarios, i.ID) || slices.Contains(o.Scenarios, i.Kind) {
			some = append(some, a)
		}
	}
	for _, s := range o.Scenarios {
		if !slices.ContainsFunc(all, func(a Attack) bool { i := a.Info(); return s == i.ID || s == i.Kind }) {
			return nil, protocol.Fail(protocol.ClassInput, "scenario: %q isn't one of %s, or a kind: leak, lie, break",
				s, strings.Join(ids, ", "))
		}
	}
	return some, nil
}

// Result is all verdicts of a run. Its JSON form is that of choir attack run --format json.
type Result struct {
	SchemaVersion int       `json:"schema_version"`
	Target        Target    `json:"target"`
	Coalition     string    `json:"coalition"`
	Runs          int       `json:"runs"`
	Seed          uint64    `json:"seed"`
	Records       int       `json:"records,omitempty"` // real ones that membership attacked
	Verdicts      []Outcome `json:"verdicts"`
	Cells         []Cell    `json:"cells,omitempty"` // of a sweep
	NotCovered    []string  `json:"not_covered"`
}

// notCovered is what no attack of the catalogue looks at.
func notCovered() []string {
	return []string{
		"side channels of a member's machine",
		"what a party's application or logs give away",
		"keys that members did not compare before they signed the plan",
	}
}

// Execute runs the attacks.
func (o Options) Execute(ctx context.Context) (*Result, error) {
	attacks, err := o.selected()
	if err != nil {
		return nil, err
	}
	ctx, cancel := o.limited(ctx)
	defer cancel()
	o.Runs = o.runs()
	out := &Result{SchemaVersion: 1, Target: o.Target, Coalition: o.Coalition.String(), Runs: o.Runs,
		Seed: o.Seed, Records: len(o.Records), Verdicts: []Outcome{}, NotCovered: notCovered()}
	run := newRun(o)
	if o.Out != "" {
		if err := run.writeView(ctx); err != nil {
			return nil, err
		}
	}
	for i, a := range attacks {
		for j, control := range []bool{false, true} {
			if o.Progress != nil {
				o.Progress(2*i+j, 2*len(attacks), a.Info().ID)
			}
			run.done = float64(i) / float64(len(attacks))
			v, err := run.one(ctx, a, control)
			if err != nil {
				return nil, err
			}
			out.Verdicts = append(out.Verdicts, v)
		}
	}
	if o.Out != "" {
		err = out.write(o.Out)
	}
	return out, err
}

func (r *Run) writeView(ctx context.Context) error {
	if t := r.Target; t.Reports != nil {
		var rows [][]int64
		honest, sees := t.reportsOf(r.Coalition)
		if sees {
			var err error
			if rows, _, err = t.countsOf(ctx, r, drawn{honest, t.Reports.Gamma}); err != nil {
				return err
			}
		}
		v, err := r.reportsView(ctx, r.Coalition, rows)
		if err != nil {
			return err
		}
		return v.Write(r.Out)
	}
	p, _, err := r.prepare(ctx, r.Coalition, thinned{}, false)
	if err != nil {
		return err
	}
	return p.view.Write(r.Out)
}

// Run is the sessions of one Execute, which attacks share.
type Run struct {
	Options
	sessions map[string]*record
	draws    map[drawn]Measurement // of reports; not nil
	budget   budget
	done     float64 // share of the attacks that ended
}

func newRun(o Options) *Run {
	return &Run{Options: o, sessions: map[string]*record{}, draws: map[drawn]Measurement{},
		budget: newBudget(o.Time, o.used)}
}

// late reports whether the attacks that are left have to be short, or the time will not suffice for them.
func (r *Run) late() bool { return r.budget.late(0.15 + 0.5*r.done) }

// lateRounds is how many rounds a session of many has when the run is late.
const lateRounds = 20

// shortened returns the target with at most a number of rounds, and fewer if the run is late, and a note
// about that. What the first rounds reveal is part of what all reveal, so that the claim for all holds.
func (r *Run) shortened(t Target, most int) (Target, []string) {
	why := "memory"
	if lateRounds < most && r.late() {
		most, why = lateRounds, "time"
	}
	if t.Rounds <= most {
		return t, nil
	}
	note := fmt.Sprintf("the %s is short: the attack saw the first %d rounds of %d; the claim is for all", why,
		most, t.Rounds)
	t.Rounds = most
	return t, []string{note}
}

func (r *Run) one(ctx context.Context, a Attack, control bool) (Outcome, error) {
	began := time.Now()
	at := *r
	if slices.Contains(protocolAlone, a.Info().ID) {
		at.Target = r.Target.bySums()
	}
	out, err := a.Run(ctx, &at, r.Coalition, control)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		out = Outcome{Coalition: r.Coalition.String(), Verdict: Undecided,
			Story: []string{"the time was up; with --time 0 there is no limit"}}
	case err != nil:
		return out, fmt.Errorf("%s: %w", a.Info().ID, err)
	}
	out.Scenario, out.Control, out.Seconds = a.Info().ID, control, time.Since(began).Seconds()
	out.Given = r.Coalition.String()
	if out.Promise == "" {
		out.Promise = a.Info().Promise
	}
	return out, nil
}

// rng gives the attack's own choices.
func (r *Run) rng(name string) *rand.Rand {
	var key [32]byte
	copy(key[8:], name)
	for i := range 8 {
		key[i] = byte(r.Seed >> (8 * i))
	}
	return rand.New(rand.NewChaCha8(key))
}

// record runs a session once for all attacks that name it.
func (r *Run) record(ctx context.Context, name string, t Target, dim int, s staging, in inputs) (*record,
	error) {
	if known := r.sessions[name]; known != nil {
		return known, nil
	}
	rec, err := r.Lab.run(ctx, t, dim, s, in)
	if err == nil {
		r.sessions[name] = rec
	}
	return rec, err
}

// Failed reports whether a promise broke, and whether something is undecided: an attack, or a
// control that did not break.
func (r *Result) Failed() (broke, undecided int) {
	for _, v := range r.Verdicts {
		switch {
		case v.Control && v.Verdict != Broke || v.Verdict == Undecided:
			undecided++
		case !v.Control && v.Verdict == Broke:
			broke++
		}
	}
	return broke, undecided
}

// atMost is the verdict on a promise that something stays within a bound.
func atMost(measured, claimed float64, promised bool) Verdict {
	switch {
	case !promised:
		return NotPromised
	case measured > claimed:
		return Broke
	}
	return Held
}
