package pvi

import (
	"context"
	"errors"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/internal/secret"
	"choir/learn/model"
)

// Learner is one party: its shards, prepared for the model. It is immutable, so its methods
// may be called from several goroutines; what changes between rounds is the state that the
// caller stores and passes back.
type Learner struct {
	secret.Hidden

	cfg     Config // with this party's own number of shards
	shared  Config // as it was given
	sites   []model.Site
	weight  float64 // the public share of all data at the party
	maxRows int
	records []bayes.Data // of the shards, for residual rounds; otherwise nil
	noise   *localNoise  // nil until WithNoise
	outside Outside      // nil until WithOutside
}

// Proposal is a party's update in a round.
type Proposal struct {
	secret.Hidden

	// Update is the sum over shards of the clipped integer updates, in units of 2^-f,
	// length Dim: the vector to which the party adds noise and which it sends. With local
	// noise it includes the noise.
	Update []int64
	// Memo is the argument of Settle. It is as secret as the data.
	Memo []byte
	// ClippedFraction is the share of terms (shards' updates, or records' vectors) that
	// were clipped. Only the party may see it: it depends on the data and has no noise.
	ClippedFraction float64
}

// NewLearner returns a party with its data split into the configuration's shards (Data.Split). weight
// is the party's public share of all records, in [0, 1]. It matters only with Beta, StartPrecision or
// ShardPower above 0, and is public, so it must not be derived from a secret number of records.
// Errors: ErrConfig, bayes.ErrData.
func NewLearner(cfg Config, data bayes.Data, weight float64) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := cfg.Likelihood().Check(data); err != nil {
		return nil, err
	}
	return newShardedLearner(cfg, data.Split(cfg.shardsFor(data.Rows(), weight)), weight)
}

// newShardedLearner is NewLearner with the shards given: exactly shardsOf(weight) of them, or
// with ShardRows as many as the records need; each record is in one. Shards may be empty.
func newShardedLearner(cfg Config, shards []bayes.Data, weight float64) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !(weight >= 0 && weight <= 1) {
		return nil, fmt.Errorf("%w: weight %v, want a share in [0, 1]", bayes.ErrData, weight)
	}
	l := &Learner{cfg: cfg, shared: cfg, weight: weight}
	rows := 0
	for _, d := range shards {
		rows += d.Rows()
	}
	own := cfg.shardsFor(rows, weight)
	l.cfg.Strategy = withShards(cfg.Strategy, own)
	if len(shards) != own {
		return nil, fmt.Errorf("%w: %d shards, want %d", bayes.ErrData, len(shards), own)
	}
	for k, d := range shards {
		if err := cfg.Likelihood().Check(d); err != nil {
			return nil, fmt.Errorf("shard %d: %w", k, err)
		}
		l.sites = append(l.sites, cfg.site(d))
		l.maxRows = max(l.maxRows, d.Rows())
	}
	if cfg.ResidualFrom > 0 {
		l.records = shards
	}
	l.withSpare(cfg.spareFor(own, weight))
	return l, nil
}

func (c Config) site(d bayes.Data) model.Site {
	return c.kind().Site(c.settings(), d.X, d.Y)
}

// Config returns the configuration that the learner was made with.
func (l *Learner) Config() Config { return l.shared }

// shardsOf returns the number of shards of a party with this public share of all records.
// Other members do not need the same number: it is at most Shards, and a record is in one
// of them.
func (c Config) shardsOf(weight float64) int {
	p := c.params()
	if p.ShardPower == 0 || !(weight < 1) {
		return p.Shards
	}
	return max(1, int(math.RoundToEven(float64(p.Shards)*math.Pow(max(weight, 0), p.ShardPower))))
}

// shardsFor returns how many shards a party with these records and this share keeps.
func (c Config) shardsFor(rows int, weight float64) int {
	p := c.params()
	if p.ShardRows <= 0 {
		return c.shardsOf(weight)
	}
	return min(p.Shards, max(1, (rows+p.ShardRows-1)/p.ShardRows))
}

// withShards returns the strategy with a party's own number of shards.
func withShards(s Strategy, n int) Strategy {
	if v, ok := s.(Virtual); ok {
		v = Virtual{Shards: n, Fit: v.Fit, Local: v.Local}
		return v
	}
	return s
}

// InitialState returns the state before round 1: all factors are 1.
func (l *Learner) InitialState() []byte {
	return l.cfg.encode(l.cfg.newBlock(kindState, 0))
}

// Propose computes the party's update for a round that starts from the public raw state. It
// changes nothing. With joint noise the same arguments give the same proposal, so that a
// retry is harmless; with local noise every call draws again, and every proposal that is
// sent must be charged.
//
// Errors: ErrRound when the state has settled this round already, ErrNoise without
// WithNoise where it is needed, ErrEncoding, ErrShape, the context's, and fixedpoint's for
// an update that is not finite or does not fit the grid.
func (l *Learner) Propose(ctx context.Context, round int, raw []int64, state []byte) (Proposal, error) {
	st, err := l.open(round, state)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	if l.cfg.params().Local && l.noise == nil {
		return Proposal{}, fmt.Errorf("propose: %w", ErrNoise)
	}
	q, _, err := l.cfg.repair(raw)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	propose := l.proposeShards
	switch {
	case l.cfg.ResidualRound(round):
		propose = func(_ context.Context, round int, q []int64, _ block) (Proposal, error) {
			return l.proposeResiduals(round, q, state)
		}
	case l.cfg.CurvatureRound(round) && l.cfg.Climbs():
		propose = func(ctx context.Context, round int, q []int64, _ block) (Proposal, error) {
			return l.proposeRecordCurvature(ctx, round, q)
		}
	case l.cfg.CurvatureRound(round):
		propose = func(ctx context.Context, round int, q []int64, _ block) (Proposal, error) {
			return l.proposeCurvature(ctx, round, q)
		}
	case l.cfg.newton():
		propose = func(ctx context.Context, round int, q []int64, _ block) (Proposal, error) {
			return l.proposeNewton(ctx, round, q)
		}
	case l.cfg.stepped():
		propose = l.proposeRecords
	}
	p, err := propose(ctx, round, q, st)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: round %d, %w", round, err)
	}
	return p, nil
}

// proposeShards is the round of the strategies whose terms are shards' updates.
func (l *Learner) proposeShards(ctx context.Context, round int, q []int64, st block) (Proposal, error) {
	cut := l.cfg.newVectors(len(l.sites))
	clipped, err := l.updates(ctx, round, cut, q, st.rows)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Update: make([]int64, l.cfg.Dim()),
		ClippedFraction: float64(clipped) / float64(len(l.sites))}
	for _, row := range cut {
		if err := addInto(p.Update, row); err != nil {
			return Proposal{}, err
		}
	}
	if l.cfg.params().Local {
		if err := l.release(p.Update); err != nil {
			return Proposal{}, err
		}
	}
	if l.cfg.Released() {
		cut = [][]int64{p.Update}
	}
	p.Memo = l.cfg.encode(block{kind: kindMemo, round: round, rows: cut})
	return p, nil
}

// updates writes every shard's clipped integers and counts the clipped ones.
func (l *Learner) updates(ctx context.Context, round int, dst [][]int64, q []int64,
	factors [][]int64) (clipped int, err error) {
	w := l.newWork(q)
	w.ws.Stop = func() bool { return ctx.Err() != nil }
	elsewhere, err := l.elsewhere(ctx, round, w, factors)
	if err != nil {
		return 0, err
	}
	for k := range l.sites {
		clips := uint64(1)
		if l.isSpare(k) {
			w.shares, clips = w.of(l.cfg.spare.shards), l.cfg.spare.clips
		}
		if k < len(elsewhere) {
			w.take(elsewhere[k])
		} else {
			w.propose(k, factors[min(k, len(factors)-1)])
		}
		if l.cfg.scores() {
			l.cfg.toScores(round, w.update, w.q)
		}
		if err := ctx.Err(); err != nil { // the update may not be complete
			return 0, fmt.Errorf("shard %d: %w", k, err)
		}
		cut, err := l.quantise(dst[k], w.update, clips)
		if err != nil {
			return 0, fmt.Errorf("shard %d: %w", k, err)
		}
		if cut {
			clipped++
		}
	}
	return clipped, nil
}

// open decodes a state and checks that the round comes after it.
func (l *Learner) open(round int, state []byte) (block, error) {
	if err := checkRound(round); err != nil {
		return block{}, err
	}
	st, err := l.cfg.decode(kindState, state)
	if err != nil {
		return block{}, err
	}
	if round <= st.round {
		return block{}, fmt.Errorf("round %d after round %d was settled: %w", round, st.round, ErrRound)
	}
	return st, nil
}

// quantise clips in the reals, rounds, and clips again on the integers, where the bound is
// exact: rounding may exceed it. The bound is a number of clips. Under a clip it is a total function: a
// term that is not finite, or too large to round, counts as the zero vector, since an error would keep the
// party out of the round and so reveal a record.
func (l *Learner) quantise(dst []int64, update []float64, clips uint64) (clipped bool, err error) {
	g := l.cfg.grid()
	if l.cfg.Clip > 0 {
		clipped = fixedpoint.ClipReal(update, l.cfg.Clip*float64(clips))
	}
	err = g.Round(dst, update)
	if l.cfg.Clip > 0 && (errors.Is(err, fixedpoint.ErrNotFinite) || errors.Is(err, fixedpoint.ErrRange)) {
		clear(dst)
		return true, nil
	}
	if err != nil || l.cfg.Clip == 0 {
		return clipped, err
	}
	bound, err := l.cfg.bound(clips)
	if err != nil {
		return clipped, err
	}
	return fixedpoint.ClipInt(dst, bound) || clipped, nil
}

// Settle adds the round's update to the private factors, without the noise of the sum; for
// FactorsNoisy and local noise it adds what was sent. Call it when the signed result
// includes this party's contribution, and not otherwise. It is pure. Errors: ErrRound when
// memo is not this round's or the round was settled before, ErrEncoding, and without a clip ErrOverflow.
func (l *Learner) Settle(round int, state, memo []byte) ([]byte, error) {
	st, err := l.open(round, state)
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	m, err := l.cfg.decode(kindMemo, memo)
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	if m.round != round {
		return nil, fmt.Errorf("settle: memo of round %d in round %d: %w", m.round, round, ErrRound)
	}
	damping := l.cfg.DampingUnits(round)
	for k, row := range st.rows {
		if i := l.cfg.settle(row, damping, m.rows[k]); i >= 0 {
			return nil, fmt.Errorf("settle: shard %d, coordinate %d: %w", k, i, ErrOverflow)
		}
	}
	st.round = round
	return l.cfg.encode(st), nil
}
