package global

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/internal/coin"
	"choir/learn/internal/secret"
	"choir/learn/model"
	"choir/learn/pvi"
)

// Learner is one party. It keeps no private state: what it sends is a function of its
// records, the public state and the draws of the round.
type Learner struct {
	secret.Hidden

	cfg  Config
	site model.PerRecord
	clip uint64
	coin coin.Coin
}

// Proposal is a party's update in a round.
type Proposal struct {
	secret.Hidden

	// Update is the sum of the drawn records' clipped integer gradients, in units of
	// 2^-FracBits, length Dim, to which noise is added.
	Update []int64
	// ClippedFraction is the share of drawn records whose gradient was clipped, 0 when none
	// was drawn. Only the party may see it.
	ClippedFraction float64
}

// NewLearner returns a party. The data is kept, not copied, and never modified. Errors:
// ErrConfig, bayes.ErrData.
func NewLearner(cfg Config, data bayes.Data) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if int64(data.Rows()) > cfg.MaxRecords {
		return nil, fmt.Errorf("%w: %d records, the plan allows one party %d", bayes.ErrData, data.Rows(),
			cfg.MaxRecords)
	}
	if err := cfg.likelihood().Check(data); err != nil {
		return nil, err
	}
	kind, _ := model.Lookup(string(cfg.Model))
	site, ok := kind.Site(cfg.settings(), data.X, data.Y).(model.PerRecord)
	if !ok {
		return nil, fmt.Errorf("%w: model is %q", ErrConfig, cfg.Model)
	}
	clip, err := cfg.intClip()
	return &Learner{cfg: cfg, site: site, clip: clip, coin: coin.New(cfg.SampleRate)}, err
}

// likelihood is what posteriors predict by.
func (c Config) likelihood() bayes.Likelihood {
	return bayes.Likelihood{Model: c.Model, Family: gauss.MeanField, Features: c.Features}
}

// Propose draws the round's records with rand, which must be secret and uniform
// (crypto/rand.Reader in production), and sums their gradients at the public state. Called
// again it draws another sample. Errors: ErrShape, rand's, the context's.
func (l *Learner) Propose(ctx context.Context, round int, raw []int64, rand io.Reader) (Proposal, error) {
	s, err := l.cfg.open(raw)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	drawn, err := l.coin.Draw(l.site.Rows(), rand)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: sample: %w", err)
	}
	var p Proposal
	if l.cfg.curvatureRound(round) {
		p, err = l.sumCurvature(ctx, round, s, drawn)
	} else {
		p, err = l.sum(ctx, s, drawn)
	}
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	return p, nil
}

// sum adds the clipped integer gradients of the drawn records. One that is not finite,
// which only records of extreme size can have, counts as zero: an error would reveal it.
func (l *Learner) sum(ctx context.Context, s state, drawn []int) (Proposal, error) {
	mean, logSD := l.cfg.parameters(s.param)
	sd := make([]float64, len(logSD))
	for i, v := range logSD {
		sd[i] = math.Exp(v)
	}
	terms := pvi.NewTerms(l.cfg.grid(), l.cfg.Clip, l.clip)
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	n, clipped := 0, 0
	err := l.site.RecordGradients(model.NewWorkspace(len(mean), 0), mean, logSD, drawn,
		func(_ int, grad []float64) error {
			if n++; n%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if l.cfg.Optimiser == Natural {
				l.cfg.measure(grad, sd)
			}
			cut, err := terms.Add(p.Update, grad)
			if errors.Is(err, fixedpoint.ErrNotFinite) || errors.Is(err, fixedpoint.ErrRange) {
				cut, err = true, nil // counts as zero: an error would reveal the record
			}
			if cut {
				clipped++
			}
			return err
		})
	if err != nil {
		return Proposal{}, err
	}
	if n > 0 {
		p.ClippedFraction = float64(clipped) / float64(n)
	}
	return p, nil
}
