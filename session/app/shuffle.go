package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/learn/response"
	"choir/protocol"
)

// NameShuffle is the application of shuffled reports in plans.
const NameShuffle = "shuffle"

// Shuffle has the parameters of the application "shuffle": every record reports some columns by randomised
// response or with noise, and the sum of the one-hot vectors, or a mix-net, shuffles all parties' reports.
type Shuffle struct {
	Version int             `json:"version"` // 1
	Survey  response.Config `json:"survey"`
	Schema  json.RawMessage `json:"schema"` // how columns are encoded
}

// ErrReports: counts of reports have no posterior.
var ErrReports = errors.New("the result of a plan with [shuffle] is counts of reports, not a model")

// Name is "shuffle".
func (s *Shuffle) Name() string { return NameShuffle }

// Marshal implements Spec.
func (s *Shuffle) Marshal() ([]byte, error) { return Canonical(s) }

func (s *Shuffle) validate() error {
	if err := checkVersion(s.Version); err != nil {
		return err
	}
	l, err := s.Layout()
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	_, _, levels := l.Bounds()
	if n := s.Survey.Noise; n != nil && n.Local(int(levels)) > response.MaxLocal {
		return fmt.Errorf("parameters: keep %d gives a report of %d levels the local guarantee %.4g, want at "+
			"most %d", n.Keep, levels, n.Local(int(levels)), response.MaxLocal)
	}
	return nil
}

// Layout lays out the counts.
func (s *Shuffle) Layout() (*response.Survey, error) {
	schema, err := s.Encoding()
	if err != nil {
		return nil, err
	}
	return response.NewSurvey(s.Survey, schema)
}

// Encoding implements Spec.
func (s *Shuffle) Encoding() (*dataset.Schema, error) { return dataset.ParseSchema(s.Schema) }

// Size implements Spec; 0 coordinates if the parameters are invalid.
func (s *Shuffle) Size() (dim int, fracBits uint8) {
	l, err := s.Layout()
	switch {
	case err != nil:
		return 0, 0
	case s.Survey.Single:
		return 1, 0
	}
	return l.Dim(), 0
}

// Mechanism implements Spec. There is no noise: what is claimed is in Reports.
func (s *Shuffle) Mechanism() (pvi.Mechanism, error) {
	l, err := s.Layout()
	if err != nil {
		return pvi.Mechanism{}, err
	}
	record, party, _ := l.Bounds()
	return pvi.Mechanism{Clip: record, PerParty: party, Dim: l.Dim(), Steps: 1}, nil
}

// Reports is what a plan must state of the reports.
func (s *Shuffle) Reports() (protocol.Reports, error) {
	l, err := s.Layout()
	if err != nil {
		return protocol.Reports{}, err
	}
	_, _, categories := l.Bounds()
	r := protocol.Reports{Records: s.Survey.Records, Columns: uint32(len(s.Survey.Columns)),
		Categories: categories, Gamma: s.Survey.Gamma}
	if n := s.Survey.Noise; n != nil {
		r.Keep = n.Keep
	}
	if s.Survey.Single {
		r.MixRecords = uint32(s.Survey.MaxRecords)
	}
	return r, nil
}

// Check implements Spec.
func (s *Shuffle) Check(p *protocol.Plan) error {
	want, err := s.Reports()
	switch {
	case err != nil:
		return err
	case p.Noise != protocol.NoiseShuffle:
		return fmt.Errorf("reports are randomised by themselves, the plan's noise is placed with %v", p.Noise)
	case p.Reports != want:
		return fmt.Errorf("the parties report %+v, the plan accounts for %+v", want, p.Reports)
	}
	return nil
}

// Model implements Spec: the counts of all rounds.
func (s *Shuffle) Model(*protocol.Plan) protocol.Model {
	l, err := s.Layout()
	switch {
	case err != nil:
		return totals{}
	case s.Survey.Single:
		return tally{totals{Sum{Dim: l.Dim()}}, l}
	}
	return totals{Sum{Dim: l.Dim()}}
}

// tally is a model that counts single reports.
type tally struct {
	totals
	survey *response.Survey
}

// Fold implements protocol.Model. Reports that are none are left out.
func (t tally) Fold(_ uint32, state, reports []int64) ([]int64, error) {
	total := slices.Clone(state)
	t.survey.Tally(total, reports)
	return total, nil
}

// totals is a model that adds the rounds' sums.
type totals struct{ Sum }

// Fold implements protocol.Model.
func (t totals) Fold(_ uint32, state, sum []int64) ([]int64, error) {
	if len(state) != t.Dim || len(sum) != t.Dim {
		return nil, fmt.Errorf("shuffle: %d and %d counts, not %d", len(state), len(sum), t.Dim)
	}
	total := make([]int64, t.Dim)
	for i := range total {
		total[i] = state[i] + sum[i]
	}
	return total, nil
}

// Posterior implements Spec: there is none.
func (s *Shuffle) Posterior(*protocol.Plan, []int64) (*bayes.Posterior, error) {
	return nil, ErrReports
}

// NoiseAware implements Spec: there is none.
func (s *Shuffle) NoiseAware(*protocol.Plan, []Revealed) (*bayes.Posterior, error) {
	return nil, ErrReports
}

// Fits checks that a party's data is what the plan's claim counts on.
func (s *Shuffle) Fits(d bayes.Data) error {
	l, err := s.Layout()
	if err != nil {
		return err
	}
	return l.Fits(d.X, d.Y)
}

// Join implements Spec.
func (s *Shuffle) Join(c PartyConfig) (Party, error) {
	l, err := s.Layout()
	if err != nil {
		return nil, err
	}
	if c.Rand == nil {
		return nil, fmt.Errorf("shuffle: no source of randomness for the reports")
	}
	if err := l.Fits(c.Data.X, c.Data.Y); err != nil {
		return nil, err
	}
	return reporter{totals{Sum{Dim: l.Dim()}}, l, s.Survey.Single, c.Data, c.Rand}, nil
}

// reporter is a party's side.
type reporter struct {
	totals
	survey *response.Survey
	single bool
	data   bayes.Data
	random io.Reader
}

// Propose implements protocol.Proposer. The reports of every attempt are new: those of a void attempt may
// have been revealed, and are charged.
func (r reporter) Propose(ctx context.Context, _ protocol.Work) ([]int64, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if r.single {
		reports, err := r.survey.Reports(r.data.X, r.data.Y, r.random)
		return reports, []byte{}, err
	}
	counts, err := r.survey.Count(r.data.X, r.data.Y, r.random)
	return counts, []byte{}, err
}
