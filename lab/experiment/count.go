package experiment

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"time"

	"choir/internal/config"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/response"
	"choir/learn/table"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
	"choir/session/terms"
)

// Counted is what the rehearsal of a plan gives that learns nothing: tables, shuffled reports or a sum.
type Counted struct {
	SchemaVersion int            `json:"schema_version"`
	Private       bool           `json:"private"` // false: one process has seen all rows
	Records       []int          `json:"records"` // of each party
	Seconds       float64        `json:"seconds"` // of the session
	Tables        *result.Tables `json:"tables"`
	Exact         []float64      `json:"exact"` // each figure without noise, or of reports that are not random
	Warnings      []string       `json:"warnings"`
	Out           string         `json:"out"`
}

// Counts reports whether the plan's file learns nothing, so that Count takes the place of Run.
func (h *Rehearsal) Counts() (bool, error) {
	c := new(terms.PlanConfig)
	err := config.ReadTOML(h.Config, c)
	return c.Shuffle != nil || c.Table != nil || c.Sum != nil, err
}

// counting is a plan that learns nothing, with the parties' rows.
type counting struct {
	model  protocol.Model
	sides  []app.Party
	tables func() (*result.Tables, error) // of the session's folder
	exact  func() ([]float64, error)
}

// Count is Run for a plan that learns nothing: it leaves what a session leaves in Out, and returns its
// estimates.
func (h *Rehearsal) Count(ctx context.Context) (*Counted, error) {
	if h.Test != "" {
		return nil, protocol.Fail(protocol.ClassInput, "test: the plan learns nothing that could be tested; "+
			"leave --test out")
	}
	var made *terms.Rehearsal
	r, err := abandonable(ctx, func() (r *demoRun, err error) {
		r, made, err = h.begin()
		return r, err
	})
	if err != nil {
		return nil, err
	}
	out := &Counted{SchemaVersion: 1, Out: h.Out, Warnings: []string{
		"a rehearsal on one machine: not private, since one process has seen all rows"}}
	c, err := h.counting(r.plan, made, out)
	if err != nil {
		return nil, err
	}
	if err := h.count(ctx, r, c, out); err != nil {
		return nil, err
	}
	if out.Tables, err = c.tables(); err != nil {
		return nil, err
	}
	out.Exact, err = c.exact()
	return out, err
}

func (h *Rehearsal) counting(p *protocol.Plan, made *terms.Rehearsal, out *Counted) (*counting, error) {
	if p.Application == app.NameSum {
		return h.summing(p, made, out)
	}
	spec, err := app.Of(p)
	if err != nil {
		return nil, err
	}
	exact := exactTables
	if _, ok := spec.(*app.Shuffle); ok {
		exact = exactReports
	}
	parts, err := h.parts(made, spec, out)
	if err != nil {
		return nil, err
	}
	c := &counting{model: spec.Model(p), exact: func() ([]float64, error) { return exact(spec, parts) },
		tables: func() (*result.Tables, error) { return result.FolderTables(h.Out, 0.95) }}
	for i, d := range parts {
		side, err := spec.Join(app.PartyConfig{Plan: p, Party: uint32(i), Data: d, Rand: rand.Reader})
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
		c.sides = append(c.sides, side)
	}
	return c, nil
}

// parts encodes the parties' rows, those of other parties again for one without a file.
func (h *Rehearsal) parts(made *terms.Rehearsal, a app.Spec, out *Counted) ([]bayes.Data, error) {
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	least, each := 1, int64(twinRows)
	fits := func(bayes.Data) error { return nil }
	if s, ok := a.(*app.Shuffle); ok {
		least, fits = int(s.Survey.Records), s.Fits
		each = min(max(int64(least), twinRows), s.Survey.MaxRecords)
	}
	records, twins, again, err := h.records(made, schema, each*int64(len(made.Parties)))
	if err != nil {
		return nil, err
	}
	if len(twins) > 0 {
		out.Warnings = append(out.Warnings, "rows that are drawn stand for "+strings.Join(twins, ", "))
	}
	d := &Data{Schema: schema, Columns: schema.EncodedColumns(), Parts: make([]bayes.Data, len(made.Parties))}
	members := made.Plan.Members[:len(made.Parties)]
	for i, m := range members {
		if rec := records[m.Name]; rec != nil {
			if d.Parts[i], err = encoded(rec, schema); err != nil {
				return nil, err
			}
			d.Train.X = append(d.Train.X, d.Parts[i].X...)
			d.Train.Y = append(d.Train.Y, d.Parts[i].Y...)
		}
	}
	known := d.Train
	for i, m := range members {
		if records[m.Name] == nil {
			if err := h.again(d, i, known, max(again, least)); err != nil {
				return nil, err
			}
		}
		if err := fits(d.Parts[i]); err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "data: %s: %w", m.Name, err)
		}
		out.Records = append(out.Records, len(d.Parts[i].Y))
	}
	return d.Parts, nil
}

func encoded(rec *dataset.Records, schema *dataset.Schema) (bayes.Data, error) {
	t, err := rec.Encode(schema)
	if err != nil {
		return bayes.Data{}, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	return rows(t), nil
}

// count runs the session and writes its files.
func (h *Rehearsal) count(ctx context.Context, r *demoRun, c *counting, out *Counted) error {
	done := uint32(0)
	l := &run.Local{Session: r.s, Keys: r.keys, Model: c.model, GiveUp: 5 * time.Minute,
		App:      func(i uint32) protocol.Application { return c.sides[i] },
		Proposer: func(i uint32) protocol.Proposer { return c.sides[i] },
		Notify: func(member uint32, n protocol.Notice) {
			if member == r.plan.Aggregator() && n.Code == protocol.NoteResult && h.Progress != nil {
				done++
				h.Progress(Progress{Phase: "round", Round: int(done), Rounds: int(r.plan.Rounds)})
			}
		}}
	rep, err := l.Run(ctx)
	if err != nil {
		return err
	}
	out.Seconds = rep.Seconds
	text, err := r.signed.MarshalText()
	if err != nil {
		return err
	}
	err = result.WriteRecords(filepath.Join(h.Out, "transcript"), []result.Record{{Plan: text,
		Transcript: protocol.MarshalTranscript(rep.Transcript)}})
	if err != nil {
		return err
	}
	f, err := result.NewModelFile(r.s, rep.Model, nil)
	if err == nil {
		err = f.Write(h.Out)
	}
	return err
}

// exactTables are the figures of the same rows without noise.
func exactTables(a app.Spec, parts []bayes.Data) ([]float64, error) {
	l, err := a.(*app.Table).Layout()
	if err != nil {
		return nil, err
	}
	total := make([]int64, l.Dim())
	for _, d := range parts {
		sum, err := l.Sum(d)
		if err != nil {
			return nil, err
		}
		for i, v := range sum {
			total[i] += v
		}
	}
	return values(l.Estimate(total, 0, 0.95)), nil
}

func values(rows []table.Row) (v []float64) {
	for _, r := range rows {
		v = append(v, r.Value)
	}
	return v
}

// exactReports are the figures of reports of the same rows that are random, or have noise, with
// probability 2^-32.
func exactReports(a app.Spec, parts []bayes.Data) ([]float64, error) {
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	cfg := a.(*app.Shuffle).Survey
	if cfg.Noise != nil {
		cfg.Noise = &response.Noise{Keep: 1, Margin: cfg.Noise.Margin}
	} else {
		cfg.Gamma = 1
	}
	s, err := response.NewSurvey(cfg, schema)
	if err != nil {
		return nil, err
	}
	counts := make([]int64, s.Dim())
	for _, d := range parts {
		reports, err := s.Reports(d.X, d.Y, rand.Reader)
		if err != nil {
			return nil, err
		}
		s.Tally(counts, reports)
	}
	figures, err := s.Figures(counts, 1, 0.95)
	return values(figures), err
}
