package experiment

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"time"

	"choir/internal/config"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/learn/response"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
	"choir/session/terms"
)

// Counted is what the rehearsal of a plan of shuffled reports gives.
type Counted struct {
	SchemaVersion int            `json:"schema_version"`
	Private       bool           `json:"private"` // false: one process has seen all rows
	Records       []int          `json:"records"` // of each party
	Seconds       float64        `json:"seconds"` // of the session
	Tables        *result.Tables `json:"tables"`
	Exact         []float64      `json:"exact"` // each figure as reports that are not random give it
	Warnings      []string       `json:"warnings"`
	Out           string         `json:"out"`
}

// Counts reports whether the plan's file has [shuffle], for which Count takes the place of Run.
func (h *Rehearsal) Counts() (bool, error) {
	c := new(terms.PlanConfig)
	err := config.ReadTOML(h.Config, c)
	return c.Shuffle != nil, err
}

// Count is Run for a plan of shuffled reports: it leaves what a session leaves in Out, and returns its
// estimates.
func (h *Rehearsal) Count(ctx context.Context) (*Counted, error) {
	if h.Test != "" {
		return nil, protocol.Fail(protocol.ClassInput, "test: a plan of reports learns nothing that could be "+
			"tested; leave --test out")
	}
	r, made, err := h.begin()
	if err != nil {
		return nil, err
	}
	a, err := app.Of(r.plan)
	if err != nil {
		return nil, err
	}
	survey, ok := a.(*app.Shuffle)
	if !ok {
		return nil, protocol.Fail(protocol.ClassInput, "config: the plan has no [shuffle]")
	}
	out := &Counted{SchemaVersion: 1, Out: h.Out, Warnings: []string{
		"a rehearsal on one machine: not private, since one process has seen all rows"}}
	parts, err := h.parts(made, survey, out)
	if err != nil {
		return nil, err
	}
	if err := h.count(ctx, r, survey, parts, out); err != nil {
		return nil, err
	}
	if out.Tables, err = result.FolderTables(h.Out, 0.95); err != nil {
		return nil, err
	}
	return out, out.exact(survey, parts)
}

// parts encodes the parties' rows, those of other parties again for one without a file.
func (h *Rehearsal) parts(made *terms.Rehearsal, a *app.Shuffle, out *Counted) ([]pvi.Data, error) {
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	least := int64(a.Survey.Records)
	each := min(max(least, twinRows), a.Survey.MaxRecords)
	records, twins, again, err := h.records(made, schema, each*int64(len(made.Parties)))
	if err != nil {
		return nil, err
	}
	if len(twins) > 0 {
		out.Warnings = append(out.Warnings, "rows that are drawn stand for "+strings.Join(twins, ", "))
	}
	d := &Data{Schema: schema, Columns: schema.EncodedColumns(), Parts: make([]pvi.Data, len(made.Parties))}
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
			if err := h.again(d, i, known, max(again, int(least))); err != nil {
				return nil, err
			}
		}
		if err := a.Fits(d.Parts[i]); err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "data: %s: %w", m.Name, err)
		}
		out.Records = append(out.Records, len(d.Parts[i].Y))
	}
	return d.Parts, nil
}

func encoded(rec *dataset.Records, schema *dataset.Schema) (pvi.Data, error) {
	t, err := rec.Encode(schema)
	if err != nil {
		return pvi.Data{}, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	return rows(t), nil
}

// count runs the session and writes its files.
func (h *Rehearsal) count(ctx context.Context, r *demoRun, a *app.Shuffle, parts []pvi.Data,
	out *Counted) error {
	sides := make([]app.Party, len(parts))
	for i, d := range parts {
		var err error
		sides[i], err = a.Join(app.PartyConfig{Plan: r.plan, Party: uint32(i), Data: d, Rand: rand.Reader})
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
	}
	done := uint32(0)
	l := &run.Local{Session: r.s, Keys: r.keys, Model: a.Model(r.plan), GiveUp: 5 * time.Minute,
		App:      func(i uint32) protocol.Application { return sides[i] },
		Proposer: func(i uint32) protocol.Proposer { return sides[i] },
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

// exact computes the figures from reports of the same rows that are random, or have noise, with probability
// 2^-32.
func (c *Counted) exact(a *app.Shuffle, parts []pvi.Data) error {
	schema, err := a.Encoding()
	if err != nil {
		return err
	}
	cfg := a.Survey
	if cfg.Noise != nil {
		cfg.Noise = &response.Noise{Keep: 1, Margin: cfg.Noise.Margin}
	} else {
		cfg.Gamma = 1
	}
	s, err := response.NewSurvey(cfg, schema)
	if err != nil {
		return err
	}
	counts := make([]int64, s.Dim())
	for _, d := range parts {
		reports, err := s.Reports(d.X, d.Y, rand.Reader)
		if err != nil {
			return err
		}
		s.Tally(counts, reports)
	}
	figures, err := s.Figures(counts, 1, 0.95)
	for _, f := range figures {
		c.Exact = append(c.Exact, f.Value)
	}
	return err
}
