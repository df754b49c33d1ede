package member

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
)

// scorer logs how well the model of every round predicts the rows of an aggregator's test_file.
type scorer struct {
	plan *protocol.Plan
	app  app.Spec
	rows bayes.Data
	log  *slog.Logger

	mu    sync.Mutex
	state []int64 // after the last round
}

// newScorer returns nil without a test_file.
func (m *Member) newScorer() (*scorer, error) {
	if m.Config.TestFile == "" {
		return nil, nil
	}
	p := m.Session.Plan
	switch p.Application {
	case app.NameSum, app.NameTable, app.NameShuffle:
		return nil, protocol.Fail(protocol.ClassInput, "config: test_file means nothing under a plan of %s, which "+
			"learns no model; leave it out", p.Application)
	}
	a, err := app.Of(p)
	if err != nil {
		return nil, err
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	t, err := testRows(m.Config.TestFile, schema)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: test_file: %w", err)
	}
	return &scorer{plan: p, app: a, rows: t, log: m.Log}, nil
}

func testRows(path string, schema *dataset.Schema) (bayes.Data, error) {
	records, err := dataset.LoadRecords(path)
	if err != nil {
		return bayes.Data{}, err
	}
	t, err := records.Encode(schema)
	if err != nil {
		return bayes.Data{}, err
	}
	if t.Rows() == 0 {
		return bayes.Data{}, errors.New("it has no rows that the schema keeps")
	}
	return bayes.Data{X: t.X, Y: t.Y}, nil
}

// notify logs the scores of a round that was accepted.
func (s *scorer) notify(n protocol.Notice) {
	if s == nil || n.Code != protocol.NoteResult || n.Detail == protocol.OutcomeVoid.String() {
		return
	}
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	if state == nil { // a round of an earlier run
		return
	}
	q, err := s.app.Posterior(s.plan, state)
	if err == nil {
		var e bayes.Scores
		if e, err = q.Evaluate(s.rows); err == nil {
			s.log.Info("scores", "event", "scores", "round", n.Round, "rows", s.rows.Rows(), "accuracy", e.Accuracy,
				"rmse", e.RMSE, "log_likelihood", e.LogLikelihood)
			return
		}
	}
	s.log.Warn("scores", "event", "scores", "round", n.Round, "error", err.Error())
}

// model is a model whose states are scored.
func (s *scorer) model(m protocol.Model) protocol.Model {
	if s == nil || m == nil {
		return m
	}
	return scoredModel{m, s}
}

type scoredModel struct {
	protocol.Model
	s *scorer
}

// Fold implements protocol.Model.
func (m scoredModel) Fold(round uint32, state, sum []int64) ([]int64, error) {
	next, err := m.Model.Fold(round, state, sum)
	if err == nil {
		m.s.mu.Lock()
		m.s.state = slices.Clone(next)
		m.s.mu.Unlock()
	}
	return next, err
}
