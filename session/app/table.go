package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/learn/table"
	"choir/protocol"
)

// NameTable is the application of tables in plans.
const NameTable = "table"

// Table has the parameters of the application "table": counts, means, histograms and
// contingency tables from one noisy sum.
type Table struct {
	Version int             `json:"version"` // 1
	Table   table.Config    `json:"table"`
	Schema  json.RawMessage `json:"schema"` // how columns are encoded
}

// ErrTables: tables have no posterior.
var ErrTables = errors.New("the result of a plan with [table] is tables, not a model")

// Name is "table".
func (t *Table) Name() string { return NameTable }

// Marshal implements Spec.
func (t *Table) Marshal() ([]byte, error) { return Canonical(t) }

func (t *Table) validate() error {
	if err := checkVersion(t.Version); err != nil {
		return err
	}
	if _, err := t.Layout(); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return nil
}

// Layout lays out the tables' cells.
func (t *Table) Layout() (*table.Layout, error) {
	schema, err := t.Encoding()
	if err != nil {
		return nil, err
	}
	return table.New(t.Table, schema)
}

// Encoding implements Spec.
func (t *Table) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(t.Schema) }

// Size implements Spec; 0 coordinates if the parameters are invalid.
func (t *Table) Size() (dim int, fracBits uint8) {
	l, err := t.Layout()
	if err != nil {
		return 0, t.Table.FracBits
	}
	return l.Dim(), t.Table.FracBits
}

// Mechanism implements Spec.
func (t *Table) Mechanism() (pvi.Mechanism, error) {
	l, err := t.Layout()
	if err != nil {
		return pvi.Mechanism{}, err
	}
	return l.Mechanism(), nil
}

// Check implements Spec: the tables are one sum.
func (t *Table) Check(p *protocol.Plan) error {
	if p.Rounds != 1 {
		return fmt.Errorf("rounds is %d, but tables are one sum: leave it out", p.Rounds)
	}
	return nil
}

// Model implements Spec.
func (t *Table) Model(*protocol.Plan) protocol.Model {
	dim, _ := t.Size()
	return Sum{Dim: dim}
}

// Posterior implements Spec: there is none.
func (t *Table) Posterior(*protocol.Plan, []int64) (*bayes.Posterior, error) { return nil, ErrTables }

// NoiseAware implements Spec: there is none.
func (t *Table) NoiseAware(*protocol.Plan, []Revealed) (*bayes.Posterior, error) {
	return nil, ErrTables
}

// Join implements Spec.
func (t *Table) Join(c PartyConfig) (Party, error) {
	l, err := t.Layout()
	if err != nil {
		return nil, err
	}
	sum, err := l.Sum(c.Data)
	if err != nil {
		return nil, err
	}
	return tables{Sum{Dim: l.Dim()}, sum}, nil
}

// tables is a party's side: its sum is the same whenever it is asked.
type tables struct {
	Sum
	sum Fixed
}

// Propose implements protocol.Proposer.
func (t tables) Propose(ctx context.Context, w protocol.Work) ([]int64, []byte, error) {
	return t.sum.Propose(ctx, w)
}
