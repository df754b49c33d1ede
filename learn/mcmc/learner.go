package mcmc

import (
	"context"
	"fmt"
	"io"
	"sync"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/internal/coin"
	"choir/learn/internal/secret"
)

// Learner is one party. It keeps no private state: what it sends is a function of its
// records, the public state and, with sampling, the draws of the round.
type Learner struct {
	secret.Hidden

	cfg     Config
	sampler Sampler
	coin    coin.Coin
	mu      sync.Mutex // of data, whose coordinates are those of the last query
	data    data
}

// Proposal is a party's update in a round.
type Proposal struct {
	secret.Hidden

	// Update is the sum of the records' clipped answers, in units of 2^-FracBits, length
	// Config.Dim, to which noise is added.
	Update []int64
	// ClippedFraction is the share of the records whose answer was clipped. Only the party
	// may see it.
	ClippedFraction float64
}

// NewLearner returns a party. The data is kept, not copied, and never modified. Errors:
// ErrConfig, bayes.ErrData.
func NewLearner(cfg Config, public Public, records bayes.Data) (*Learner, error) {
	s, err := New(cfg, public)
	if err != nil {
		return nil, err
	}
	if int64(records.Rows()) > cfg.MaxRecords {
		return nil, fmt.Errorf("%w: %d records, the plan allows one party %d", bayes.ErrData, records.Rows(),
			cfg.MaxRecords)
	}
	l := &Learner{cfg: cfg, sampler: s, coin: coin.New(cfg.SampleRate),
		data: data{x: records.X, y: records.Y, d: cfg.Features}}
	of := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: cfg.Features}
	return l, of.Check(records)
}

// Propose answers the query of a public state for the party's records. rand, which is read
// only with sampling, must be secret and uniform; called again it draws another sample.
// Errors: ErrShape, rand's, the context's.
func (l *Learner) Propose(ctx context.Context, raw []int64, rand io.Reader) (Proposal, error) {
	q, err := l.sampler.Query(raw)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	drawn, err := l.coin.Draw(len(l.data.y), rand)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: sample: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	const block = 1024
	clipped := 0
	for from := 0; from < len(drawn); from += block {
		if err := ctx.Err(); err != nil {
			return Proposal{}, err
		}
		clipped += l.data.answers(q, drawn[from:min(from+block, len(drawn))], p.Update)
	}
	if len(drawn) > 0 {
		p.ClippedFraction = float64(clipped) / float64(len(drawn))
	}
	return p, nil
}
