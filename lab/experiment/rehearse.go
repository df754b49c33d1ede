package experiment

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"choir/crypto/identity"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// Rehearsal runs the session that a plan's file describes on one machine, with the real
// split of the rows.
type Rehearsal struct {
	Config string   // the plan's file; its members' cards need not exist
	Data   []string // files in the order of the file's parties, or NAME=FILE; twins for the others
	Test   string   // file of rows to test on; "": a fifth of each party's rows
	Signal float64  // of the twins
	Seed   uint64   // of the twins and of the rows that are held out
	Out    string
	// Command, Progress: see Demo.
	Command  string
	Progress func(Progress)
}

// Run runs the session in memory and the references, and leaves what Demo.Run leaves.
func (h *Rehearsal) Run(ctx context.Context) (*Result, error) {
	r, err := abandonable(ctx, h.prepare)
	if err != nil {
		return nil, err
	}
	rep, err := r.session(ctx)
	if err != nil {
		return nil, err
	}
	return r.conclude(ctx, rep)
}

// prepare makes the plan and reads the rows.
func (h *Rehearsal) prepare() (*demoRun, error) {
	r, made, err := h.begin()
	if err != nil {
		return nil, err
	}
	if err := h.describe(r); err != nil {
		return nil, err
	}
	r.data, err = h.data(made, r.app)
	return r, err
}

// begin makes the plan among new members, who sign it.
func (h *Rehearsal) begin() (*demoRun, *terms.Rehearsal, error) {
	r := &demoRun{began: time.Now()}
	roster := &run.Roster{}
	enrol := func(name string, role protocol.Role) (protocol.Member, error) {
		if err := identity.CheckName(name); err != nil {
			return protocol.Member{}, err
		}
		k, err := identity.Generate(rand.Reader)
		if err != nil {
			return protocol.Member{}, err
		}
		m := terms.NewMember(name, role, k.Public())
		roster.Keys = append(roster.Keys, k)
		roster.Members = append(roster.Members, m)
		return m, nil
	}
	made, err := terms.NewRehearsal(h.Config, r.began, max(2, len(h.Data)), enrol)
	if err != nil {
		return nil, nil, err
	}
	r.plan = made.Plan
	r.s = protocol.Bind(r.plan)
	if r.keys, err = roster.KeysIn(r.plan); err != nil {
		return nil, nil, err
	}
	r.signed, err = roster.Sign(r.plan)
	return r, made, err
}

// describe fills in the demonstration's settings from the plan.
func (h *Rehearsal) describe(r *demoRun) (err error) {
	p := r.plan
	if r.app, err = app.Of(p); err != nil {
		return err
	}
	r.Demo = &Demo{Parties: p.Parties(), Computes: p.Computes(), Rounds: int(p.Rounds),
		Colluders: int(p.Colluders), Epsilon: p.Epsilon, Delta: p.Delta, InMemory: true, Out: h.Out,
		Command: h.Command, Progress: h.Progress, NoReferences: p.Noise == protocol.NoiseNone}
	switch a := r.app.(type) {
	case *app.PVI:
		r.Model, r.Strategy = a.PVI.Model, a.PVI.Strategy.Name()
		if r.Model == bayes.External {
			return protocol.Fail(protocol.ClassInput, "config: model external is computed by a program of each "+
				"party's own, which a rehearsal doesn't run")
		}
	case *app.GlobalVI:
		r.Model, r.Method = a.Global.Model, MethodGlobal
	case *app.Statistics:
		r.Model, r.Method = bayes.Linear, MethodStatistics
	case *app.MCMC:
		r.Model, r.Method = bayes.Logistic, MethodMCMC
	}
	return nil
}

// data encodes the parties' rows.
func (h *Rehearsal) data(made *terms.Rehearsal, a app.Spec) (*Data, error) {
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	records, twins, each, err := h.records(made, schema, declared(a))
	if err != nil {
		return nil, err
	}
	d := &Data{Schema: schema, Columns: schema.EncodedColumns(), Parts: make([]bayes.Data, len(made.Parties))}
	d.Warnings = []string{"a rehearsal on one machine: not private, since one process has seen all rows"}
	switch {
	case len(twins) == len(made.Parties):
		d.Warnings = append(d.Warnings, "all rows are synthetic: the scores are about the plan, not about patients")
	case len(twins) > 0:
		d.Warnings = append(d.Warnings,
			fmt.Sprintf("rows of the other parties, drawn again, stand for %s: the real "+
				"ones would teach more", strings.Join(twins, ", ")))
	}
	parties := made.Plan.Members[:made.Plan.Parties()]
	for i, m := range parties {
		if rec := records[m.Name]; rec != nil {
			if err := h.part(d, i, m.Name, rec); err != nil {
				return nil, err
			}
			if few := terms.TooFew(made.Plan, i, len(rec.Cells)); few != "" {
				d.Warnings = append(d.Warnings, m.Name+": "+few)
			}
		}
	}
	known := d.Train
	for i, m := range parties {
		if records[m.Name] == nil {
			if err := h.again(d, i, known, each); err != nil {
				return nil, err
			}
		}
	}
	if err := h.test(d); err != nil {
		return nil, err
	}
	d.Name = fmt.Sprintf("rehearsal of %s", made.Plan.Name)
	return d, nil
}

// test reads the rows to test on, unless some were held out.
func (h *Rehearsal) test(d *Data) error {
	if h.Test != "" {
		rec, err := dataset.LoadRecords(h.Test)
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "test: %w", err)
		}
		t, err := rec.Encode(d.Schema)
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "test: %w", err)
		}
		d.Test = rows(t)
	}
	if d.Test.Rows() == 0 {
		return protocol.Fail(protocol.ClassInput, "data: the files have too few rows to hold some out; "+
			"name rows to test on with --test")
	}
	return nil
}

// declared is the number of all parties' records that a plan declares, 0 if none.
func declared(a app.Spec) int64 {
	switch a := a.(type) {
	case *app.PVI:
		return a.Records
	case *app.GlobalVI:
		return a.Global.Records
	case *app.Statistics:
		return a.Statistics.Records
	}
	return 0
}

// Rows of a twin where neither the plan nor the files tell, and the most of one.
const (
	twinRows     = 200
	mostTwinRows = 20_000
)

// records reads the parties' files by name. If there is none, it draws twins for all
// parties; if there are some, the parties in twins have none and want that number of rows each.
func (h *Rehearsal) records(made *terms.Rehearsal, schema *dataset.Schema, all int64) (
	records map[string]*dataset.Records, twins []string, each int, err error) {
	records = map[string]*dataset.Records{}
	read := 0
	for i, path := range h.Data {
		name, file, err := made.Party(i, path, len(h.Data))
		if err != nil {
			return nil, nil, 0, err
		}
		if records[name] != nil {
			return nil, nil, 0, protocol.Fail(protocol.ClassInput, "data: two files for %s", name)
		}
		if records[name], err = dataset.LoadRecords(file); err != nil {
			return nil, nil, 0, protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
		read += len(records[name].Cells)
	}
	missing := len(made.Parties) - len(records)
	each = twinRows
	switch {
	case missing == 0:
		return records, nil, 0, nil
	case all > int64(read):
		each = int(min((all-int64(read))/int64(missing), mostTwinRows))
	case len(records) > 0:
		each = read / len(records)
	}
	none := len(records) == 0
	t := dataset.Twins{Schema: schema, Signal: h.Signal, Seed: h.Seed}
	for i, name := range made.Parties {
		if records[name] != nil {
			continue
		}
		twins = append(twins, name)
		if !none {
			continue
		}
		if records[name], err = t.Records(uint64(i), max(1, each)); err != nil {
			return nil, nil, 0, protocol.Fail(protocol.ClassInput, "signal: %w", err)
		}
	}
	return records, twins, each, nil
}

// again gives party i rows of the known ones, each as often as any other.
func (h *Rehearsal) again(d *Data, i int, known bayes.Data, each int) error {
	order, err := dataset.Partition(known.Rows(), h.Seed+uint64(i))
	if err != nil {
		return err
	}
	var own bayes.Data
	dim := len(d.Columns)
	for k := range max(1, each) {
		row := order[0][k%known.Rows()]
		own.X = append(own.X, known.X[row*dim:(row+1)*dim]...)
		own.Y = append(own.Y, known.Y[row])
	}
	d.Parts[i] = own
	d.Train.X = append(d.Train.X[:len(d.Train.X):len(d.Train.X)], own.X...)
	d.Train.Y = append(d.Train.Y[:len(d.Train.Y):len(d.Train.Y)], own.Y...)
	return nil
}

// part encodes the rows of party i, by name, and holds some out, unless there is a file to test on.
func (h *Rehearsal) part(d *Data, i int, name string, rec *dataset.Records) error {
	t, err := rec.Encode(d.Schema)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	for _, note := range notes(t, d.Schema) {
		d.Warnings = append(d.Warnings, name+": "+note)
	}
	own := rows(t)
	if h.Test == "" {
		cut, err := dataset.Partition(t.Rows(), h.Seed+uint64(i), trainShare)
		if err != nil {
			return err
		}
		train, err := t.Select(cut[0])
		if err != nil {
			return err
		}
		test, err := t.Select(cut[1])
		if err != nil {
			return err
		}
		own = rows(train)
		d.Test.X = append(d.Test.X, test.X...)
		d.Test.Y = append(d.Test.Y, test.Y...)
	}
	if own.Rows() == 0 {
		return protocol.Fail(protocol.ClassInput, "data: %s has too few rows to learn from", rec.Name)
	}
	d.Parts[i] = own
	d.Train.X = append(d.Train.X, own.X...)
	d.Train.Y = append(d.Train.Y, own.Y...)
	return nil
}

// trainShare is the share of a party's rows that it learns from.
const trainShare = 0.8
