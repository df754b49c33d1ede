package member

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// application returns a party's side with its data, encoded by the plan's public
// schema.
func (m *Member) application() (protocol.Application, protocol.Proposer, error) {
	if m.Session.Plan.Application == app.NameSum {
		if m.Config.Exec != "" {
			return nil, nil, noExec(app.NameSum)
		}
		v, err := m.vector()
		return app.Sum{Dim: int(m.Session.Plan.Dim)}, v, err
	}
	a, err := app.Of(m.Session.Plan)
	if err != nil {
		return nil, nil, err
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, nil, err
	}
	data, err := m.readData(schema)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	own, err := m.outside(a, data, schema)
	if err != nil {
		return nil, nil, err
	}
	if l, ok := a.(*app.PVI); ok && l.PVI.Model == bayes.External && own == nil {
		return nil, nil, protocol.Fail(protocol.ClassInput,
			"config: exec is missing: a program of each party computes the plan's model %q", bayes.External)
	}
	l, err := a.Join(app.PartyConfig{Plan: m.Session.Plan, Party: m.Index, Data: data, Rand: rand.Reader,
		Outside: own, Report: func(round uint32, clipped float64) {
			m.keepPrivate(round-m.Session.Plan.RoundsBefore(), clipped)
		}})
	switch {
	case protocol.ClassOf(err) == protocol.ClassInput: // about exec, whose shards the data determine
		return nil, nil, err
	case err != nil:
		return nil, nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	m.work.side = l
	return l, l, nil
}

// CheckData reads a party's file as a session under the plan would, and returns why it does not fit.
// A party that looks before it signs is not absent later because of a value that the schema refuses.
// The same holds of a program that the plan has no use for. Of the configuration only the file, the share of
// altered values and exec count.
func CheckData(p *protocol.Plan, c *Config) error {
	m := &Member{Session: protocol.Bind(p), Config: c, Log: slog.New(slog.DiscardHandler)}
	if p.Application == app.NameSum {
		if c.Exec != "" {
			return noExec(app.NameSum)
		}
		_, err := m.vector()
		return err
	}
	data, schema, err := m.encoded()
	if err != nil {
		return err
	}
	a, err := app.Of(p)
	if err == nil {
		_, err = m.outside(a, data, schema)
	}
	return err
}

// Encoded reads a party's file as CheckData does, for a plan with a schema, and returns the records and
// the schema that encoded them.
func Encoded(p *protocol.Plan, c *Config) (bayes.Data, *dataset.Schema, error) {
	m := &Member{Session: protocol.Bind(p), Config: c, Log: slog.New(slog.DiscardHandler)}
	return m.encoded()
}

func (m *Member) encoded() (data bayes.Data, schema *dataset.Schema, err error) {
	a, err := app.Of(m.Session.Plan)
	if err != nil {
		return bayes.Data{}, nil, err
	}
	if schema, err = a.Encoding(); err != nil {
		return bayes.Data{}, nil, err
	}
	data, err = m.readData(schema)
	if s, ok := a.(*app.Shuffle); ok && err == nil {
		err = s.Fits(data)
	}
	if err != nil {
		return bayes.Data{}, nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	return data, schema, nil
}

// fewRows is a number of records below which a file is more likely a wrong one.
const fewRows = 10

func few(n int) string {
	switch {
	case n == 1:
		return "1 record is few"
	case n < fewRows:
		return fmt.Sprintf("%d records are few", n)
	}
	return ""
}

func (m *Member) readData(schema *dataset.Schema) (bayes.Data, error) {
	records, err := dataset.LoadRecords(m.Config.DataFile)
	if err != nil {
		return bayes.Data{}, err
	}
	t, err := records.Encode(schema)
	if err != nil {
		return bayes.Data{}, err
	}
	m.altered = alterations(t)
	for _, a := range m.altered {
		m.Log.Log(context.Background(), a.level(), a.String(), "event", "data", "column", a.Column)
	}
	if m.few = few(len(t.Y)); m.few != "" {
		m.Log.Warn(m.few+": look whether the file is whole", "event", "data")
	}
	if m.tooFew = terms.TooFew(m.Session.Plan, int(m.Index), len(t.Y)); m.tooFew != "" {
		m.Log.Warn(m.tooFew, "event", "data")
	}
	if err := tooMany(m.altered, float64(m.Config.MaxAltered)); err != nil {
		return bayes.Data{}, err
	}
	data := bayes.Data{X: t.X, Y: t.Y}
	m.records = digestRecords(data)
	return data, nil
}

// vector returns a party's row under a plan of sums.
func (m *Member) vector() (app.Fixed, error) {
	p := m.Session.Plan
	x, err := dataset.LoadMatrix(m.Config.DataFile)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	row, err := app.Row(p, m.Config.DataFile, x)
	if err == nil {
		m.records = digestRow(row)
	}
	return row, err
}
