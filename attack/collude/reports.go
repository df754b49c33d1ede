package collude

import (
	"bufio"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"choir/attack/threat"
	"choir/host"
	"choir/internal/parallel"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/response"
	"choir/privacy"
	"choir/privacy/shuffle"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
)

// reports is the measurement of epsilon for plans of shuffled randomised reports. The victim's record has
// the first value or the second, all other honest ones have a third, or the first if there are two values;
// with noise the first level or the last, and the others the last. The adversary computes the likelihood
// ratio of what it sees.
type reports struct{}

// Info implements Attack.
func (reports) Info() Info {
	return Info{ID: "reports", Kind: "leak",
		What:    "the epsilon of all rounds' shuffled reports, by the likelihood of their counts",
		Needs:   "a plan of [shuffle]; the aggregator, all compute nodes, or with the back end sum a party",
		Promise: promiseRecords, Expected: Held,
		Control: "the victim's reports by themselves, as without shuffling; where the plan claims no less than " +
			"these keep, reports that are not random"}
}

// Run implements Attack.
func (reports) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if _, err := r.rehearsed(ctx); err != nil {
		return Outcome{}, err
	}
	return judgeReports(r, c, control, func(d drawn) (Measurement, error) {
		return r.Target.measureReports(ctx, r, d)
	})
}

// judgeReports judges what a measurement of the coalition's reports shows.
func judgeReports(r *Run, c Coalition, control bool, measured func(drawn) (Measurement, error)) (Outcome,
	error) {
	t := r.Target
	out := Outcome{Coalition: c.String(), Unit: "epsilon"}
	honest, sees := t.reportsOf(c)
	claim, err := t.reportClaim(c)
	if err != nil {
		return out, err
	}
	out.Claimed = wide(claim)
	if !sees && !control {
		none := 0.0
		out.Measured, out.Verdict = &none, Held
		out.Story = []string{"nobody in the coalition receives reports or counts of them"}
		return out, nil
	}
	tries := []drawn{{honest, t.Reports.Gamma}}
	if control {
		tries = []drawn{{1, t.Reports.Gamma}, {1, 1}}
	}
	for _, d := range tries {
		m, err := measured(d)
		if err != nil {
			return out, err
		}
		out.Measured, out.Detail = &m.Low, &m
		out.Story = []string{fmt.Sprintf("%d reports of honest records in each of %d columns and rounds, each "+
			"%s; %d draws", d.reports, t.Rounds*int(t.Reports.Columns), t.randomness(d), m.Samples)}
		if out.Verdict = atMost(m.Low, claim, control || t.tolerated(c)); out.Verdict == Broke {
			break
		}
	}
	return out, nil
}

// reportsOf returns how many honest reports of a column a coalition cannot tell apart in the smallest set,
// the victim's among them, and whether it sees any.
func (t Target) reportsOf(c Coalition) (honest int, sees bool) {
	r := int(t.Reports.Records)
	if c.Nodes == t.Nodes {
		return r, true // of the victim's site, which sends them in one sum or in a random order
	}
	return max(1, t.MinParties-c.Parties) * r, c.Aggregator || c.Parties > 0 && t.Reports.MixRecords == 0
}

// reportClaim is the epsilon that the accountant gives for one record against a coalition.
func (t Target) reportClaim(c Coalition) (float64, error) {
	honest, sees := t.reportsOf(c)
	if !sees {
		return 0, nil
	}
	releases := t.Rounds
	if t.Reports.MixRecords == 0 {
		releases += t.Spares
	}
	b, err := privacy.Spent([]privacy.SampledRelease{{Count: releases * int(t.Reports.Columns),
		Shuffled: privacy.Shuffled{Reports: uint64(honest), Categories: t.Reports.Categories,
			Gamma: t.Reports.Gamma, Keep: t.Reports.Keep}}}, privacy.ReplaceOne, t.Delta, privacy.PlanPrecision())
	return b.Epsilon, err
}

// drawn is a number of reports that are random with a probability in units of 2^-32.
type drawn struct {
	reports int
	gamma   uint64
}

// mostDraws bounds the reports that a measurement draws.
const mostDraws = 1 << 26

// measureReports draws what a coalition sees, once for all coalitions that see as much, by the code that
// parties draw reports with.
func (t Target) measureReports(ctx context.Context, r *Run, d drawn) (Measurement, error) {
	if m, known := r.draws[d]; known {
		return m, nil
	}
	scores, changed, err := t.scores(ctx, r, d)
	if err != nil {
		return Measurement{}, err
	}
	m, err := measure(scores, sample{}, 1, t.Delta, anyShape)
	if err == nil && !(t.Epsilon > 0 && m.Low > t.Epsilon) { // the claim is not refuted yet
		err = t.byRate(&m, d, changed)
	}
	r.draws[d] = m
	return m, err
}

// rate is how many of a number of reports differ from their records' values.
type rate struct{ changed, of int }

// byRate raises the limit. The rate of changed reports has an upper confidence limit, and with it the
// probability of a random report, or the noise. From that the distribution of the counts follows, and the
// epsilon that the counts of the victim's two values refute, which events of a probability near delta decide:
// too few draws show these.
func (t Target) byRate(m *Measurement, d drawn, of rate) error {
	k, most := float64(t.Reports.Categories), threat.UpperRate(of.changed, of.of, falseAlarm/4)
	r := shuffle.Round{Kind: shuffle.RandomisedResponse, Users: d.reports, Categories: int(k),
		Gamma: min(1, most*k/(k-1)), Count: t.Rounds * int(t.Reports.Columns)}
	if t.Noisy != nil {
		if k > shuffle.MaxLevels {
			return nil // their distribution is not computed
		}
		sides := 2.0
		if t.Noisy.Margin == 0 { // noise beyond the end leaves a report of the end as it is
			sides = 1
		}
		// Noise of levels that keep a share a changes a report with the probability 2a/(1 + a).
		r.Kind, r.Categories, r.Gamma, r.Levels = shuffle.Laplace, 0, 0, int(k)
		r.Eps0 = min(50, (k-1)*math.Log((sides-most)/most))
		if !(r.Eps0 > 0) {
			return nil
		}
	}
	a, err := privacy.ShuffleQuery{Rounds: []shuffle.Round{r}, Delta: t.Delta,
		Precision: privacy.PlanPrecision()}.Answer()
	if err != nil {
		return err
	}
	if a.LowerBound > m.Low {
		m.Low = a.LowerBound
		m.Method = "by the distribution of the counts under the limit of the reports' randomness that the rate " +
			"of changed reports shows"
	}
	return nil
}

// scores are the likelihood ratios of draws.
func (t Target) scores(ctx context.Context, r *Run, d drawn) (sample, rate, error) {
	tallies := t.Rounds * int(t.Reports.Columns)
	x, err := t.randomiser(d)
	if err != nil {
		return sample{}, rate{}, err
	}
	draws := mostDraws
	if t.Noisy != nil { // a report takes a coin for each level
		draws /= 1 + len(x.ratio[0])/16
	}
	runs := min(r.Runs, max(minRuns, draws/(2*d.reports*tallies)))
	scores := [2][]float64{make([]float64, runs), make([]float64, runs)}
	all := [2][]float64{make([]float64, runs*tallies), make([]float64, runs*tallies)}
	const chunks = 64
	errs, changed := make([]error, chunks), [chunks]int{}
	parallel.Do(chunks, func(i int) {
		random, err := freshRandom()
		reports := make([]int, d.reports)
		for j := i; j < runs*tallies && err == nil; j += chunks {
			for victim := range 2 {
				n := 0
				if n, err = x.draw(reports, victim, random); err != nil {
					break
				}
				all[victim][j] = x.score(reports)
				changed[i] += n
			}
			err = cmp.Or(err, ctx.Err())
		}
		errs[i] = err
	})
	for victim := range 2 {
		for j, s := range all[victim] {
			scores[victim][j/tallies] += s
		}
	}
	of := rate{of: 2 * runs * tallies * d.reports}
	for _, n := range changed {
		of.changed += n
	}
	return sample{scores[0], scores[1]}, of, errors.Join(errs...)
}

func freshRandom() (io.Reader, error) {
	var seed [32]byte
	_, err := crand.Read(seed[:])
	return bufio.NewReaderSize(rand.NewChaCha8(seed), 1<<12), err
}

// sessionRecords bounds a party's records in the session that rehearse runs.
const sessionRecords = 20

// rehearsed runs a session of the plan's members and back end on its own records, once, and returns an
// error if the aggregator receives anything but the counts of the parties' reports.
func (r *Run) rehearsed(ctx context.Context) (*record, error) {
	const name = "reports"
	if known := r.sessions[name]; known != nil {
		return known, nil
	}
	a, err := r.Target.survey()
	if err != nil {
		return nil, err
	}
	rec, err := r.Target.rehearsal(a)
	if err == nil {
		err = rec.rehearse(ctx, r.Lab, a)
	}
	if err == nil {
		r.sessions[name] = rec
	}
	return rec, err
}

// rehearsal is the record of a session that did not begin.
func (t Target) rehearsal(a *app.Shuffle) (*record, error) {
	roster, err := run.NewRoster(nil, t.Parties, t.Nodes)
	if err != nil {
		return nil, err
	}
	p, err := terms.Terms{Name: "reports", Members: roster.Members, Created: time.Now(), Rounds: 1,
		Lifetime: 24 * time.Hour, Deadline: time.Hour, Noise: protocol.NoiseShuffle, Delta: t.Delta}.Plan(a)
	if err != nil {
		return nil, err
	}
	r := &record{session: protocol.Bind(p), notices: map[uint32][]protocol.Notice{}}
	r.keys, err = roster.KeysIn(p)
	return r, err
}

// rehearse runs the session.
func (r *record) rehearse(ctx context.Context, lab Lab, a *app.Shuffle) (err error) {
	p := r.session.Plan
	sides := make([]*witness, p.Parties())
	for i := range sides {
		if sides[i], err = newWitness(a, p, uint32(i)); err != nil {
			return err
		}
	}
	l := &run.Local{Session: r.session, Keys: r.keys, Model: a.Model(p), Notify: r.notice,
		App:      func(i uint32) protocol.Application { return sides[i] },
		Proposer: func(i uint32) protocol.Proposer { return sides[i] },
		Store:    func(i uint32) (host.Store, error) { return r.store(i, false), nil }}
	connect := run.InMemory(r.session)
	if lab.Network != nil {
		var shut func()
		if connect, shut, err = lab.Network(ctx, l.Session); err != nil {
			return err
		}
		defer shut()
	}
	l.Connect = func(i uint32) (transport.Bus, error) {
		bus, err := connect(i)
		return &tap{Bus: bus, r: r, member: i, over: ctx}, err
	}
	rep, err := l.Run(ctx)
	if err != nil {
		return err
	}
	want, err := counted(a.Model(p), sides)
	if err == nil && !slices.Equal(rep.Model, want) {
		return protocol.Fail(protocol.ClassIntegrity, "the aggregator received other counts than the parties' "+
			"reports")
	}
	return err
}

// counted is the counts of what all parties sent.
func counted(m protocol.Model, sides []*witness) (total []int64, err error) {
	total = m.Initial()
	for _, s := range sides {
		if total, err = m.Fold(1, total, s.sent); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// survey is an application with the plan's reports, of its own columns.
func (t Target) survey() (*app.Shuffle, error) {
	r := t.Reports
	values := make([]string, r.Categories)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	k := int(r.Categories)
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: values of an attack",
		Target: dataset.Binary("none", "no", "yes"), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	records := min(r.Records, sessionRecords)
	cfg := response.Config{Estimate: response.Histogram, Gamma: r.Gamma, Records: records,
		MaxRecords: int64(records), Single: r.MixRecords > 0}
	if t.Noisy != nil {
		cfg.Estimate, cfg.Gamma, cfg.Noise = response.Mean, 0, t.Noisy
	}
	for i := range r.Columns {
		name := fmt.Sprint("c", i)
		column := dataset.Categorical(name, values...)
		if cfg.Noise != nil {
			column = dataset.Numeric(name, 0, 1)
		}
		schema.Columns = append(schema.Columns, column)
		cfg.Columns = append(cfg.Columns, response.Column{Name: name, Categories: k})
	}
	raw, err := schema.Canonical()
	return &app.Shuffle{Version: 1, Survey: cfg, Schema: json.RawMessage(raw)}, err
}

// witness is a party's side that remembers what it sent.
type witness struct {
	app.Party
	sent []int64
}

func newWitness(a *app.Shuffle, p *protocol.Plan, party uint32) (*witness, error) {
	k, columns := a.Survey.Columns[0].Categories, len(a.Survey.Columns)
	var d bayes.Data
	for i := range int(a.Survey.Records) {
		value := (i + int(party)) % k
		for range columns {
			x := make([]float64, k)
			x[value] = 1
			if a.Survey.Noise != nil {
				x = []float64{2*float64(value)/float64(k-1) - 1}
			}
			d.X = append(d.X, x...)
		}
		d.X = append(d.X, 1) // the intercept
		d.Y = append(d.Y, 0)
	}
	side, err := a.Join(app.PartyConfig{Plan: p, Party: party, Data: d, Rand: crand.Reader})
	return &witness{Party: side}, err
}

// Propose implements protocol.Proposer.
func (w *witness) Propose(ctx context.Context, work protocol.Work) ([]int64, []byte, error) {
	update, memo, err := w.Party.Propose(ctx, work)
	w.sent = slices.Clone(update)
	return update, memo, err
}
