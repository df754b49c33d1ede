package pvi

import (
	"context"
	"errors"
	"fmt"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/gauss"
	"choir/learn/model"
)

// descent is one round at one party of a strategy that clips single records. It is a chain
// of noisy sums over records; between them are only public numbers: the configuration, the
// posterior q, the factor made of the party's own released updates, and the earlier noisy
// sums. What the party sends is a function of these. docs/methods.md has the theorem.
type descent struct {
	l       *Learner
	ctx     context.Context
	chart   model.Chart
	site    model.Site
	ws      *model.Workspace
	cavity  []float64
	terms   *Terms
	sum     []int64 // of the records' vectors
	scratch []int64

	seen, clipped int               // of records, over all releases
	observe       func(sum []int64) // tests see sums before the noise; otherwise nil
}

// proposeRecords is the round of Optimisation, Analytic, hybrid and the committees.
func (l *Learner) proposeRecords(ctx context.Context, round int, q []int64, st block) (Proposal, error) {
	if l.cfg.traits().once && round != 1 {
		return Proposal{}, fmt.Errorf("a committee has one round: %w", ErrRound)
	}
	d, base, err := l.newDescent(ctx, q, st.rows[0])
	if err != nil {
		return Proposal{}, err
	}
	natural, err := d.run(l.cfg.Reals(q), st.round == 0)
	if err != nil {
		return Proposal{}, err
	}
	for i := range natural {
		natural[i] -= base[i]
	}
	return l.sent(round, d, natural, nil)
}

// sent is the proposal of an update, with these memo rows; nil is the update itself.
func (l *Learner) sent(round int, d *descent, update []float64, rows [][]int64) (Proposal, error) {
	p := Proposal{Update: make([]int64, len(update)),
		ClippedFraction: float64(d.clipped) / float64(max(d.seen, 1))}
	fixedpoint.ClipReal(update, l.cfg.updateClip())
	if err := l.cfg.grid().Round(p.Update, update); err != nil {
		return Proposal{}, err
	}
	if err := l.boundUpdate(p.Update); err != nil {
		return Proposal{}, err
	}
	if rows == nil {
		rows = [][]int64{p.Update}
	}
	p.Memo = l.cfg.encode(block{kind: kindMemo, round: round, rows: rows})
	return p, nil
}

// newDescent computes the cavity, and base, from which the update is the difference: q, or
// for a committee member its own part of the prior with its share of the start, which all
// updates together remove from the sum.
func (l *Learner) newDescent(ctx context.Context, q []int64, factor []int64) (d *descent, base []float64,
	err error) {
	c, dim := l.cfg, l.cfg.Dim()
	d = &descent{l: l, ctx: ctx, site: l.sites[0], ws: model.NewWorkspace(c.Weights(), 0),
		sum: make([]int64, dim), scratch: make([]int64, dim)}
	if d.terms, err = c.terms(); err != nil {
		return nil, nil, err
	}
	if d.chart, err = c.chart(d.site); err != nil {
		return nil, nil, err
	}
	base = c.Reals(q)
	prior := c.Reals(c.prior())
	if b, ok := c.Strategy.(BCMSplit); ok {
		for i := range prior {
			prior[i] /= float64(b.Parties)
		}
	}
	if c.traits().once {
		d.cavity = append([]float64(nil), prior...)
		c.AddStart(prior, l.weight)
		return d, prior, nil // not q, which a floor may have lifted
	}
	moved := make([]float64, dim)
	for i, p := range prior {
		moved[i] = base[i] - p
	}
	d.cavity = make([]float64, dim)
	c.shares(l.weight).without(c.space(), d.cavity, base, c.Reals(factor), moved)
	return d, base, nil
}

func (c Config) chart(site model.Site) (model.Chart, error) {
	if linear, ok := site.(*model.LinearRecords); ok && c.Family == gauss.Full {
		return model.NewCholeskyChart(linear), nil
	}
	if records, ok := site.(model.PerRecord); ok {
		p := c.params()
		unit := p.sdUnit()
		if p.Optimiser == Natural {
			unit = 1 // climb has its own units
		}
		return model.NewMeanFieldChart(records, unit), nil
	}
	return nil, fmt.Errorf("%w: model %q has no gradients of single records", ErrConfig, c.Model)
}

// run returns the party's posterior as natural parameters: the analytic sum where the
// strategy has one, then the steps. first reports whether the party has settled no round.
func (d *descent) run(q []float64, first bool) ([]float64, error) {
	c := d.l.cfg
	p := c.params()
	steps := p.Steps
	if name := c.name(); name == NameAnalytic || (name == NameHybrid && first) {
		analytic, err := d.statistics()
		if err != nil || name == NameAnalytic {
			return analytic, err
		}
		if q, err = c.proper(analytic); err != nil {
			return nil, err
		}
		steps--
	}
	if p.Optimiser == Natural {
		return d.climb(q, steps)
	}
	theta, g := make([]float64, len(q)), make([]float64, len(q))
	if err := d.chart.Open(theta, q); err != nil {
		return nil, err
	}
	start := append([]float64(nil), theta...)
	opt := c.optimiser()
	for range steps {
		if err := d.gradient(g, theta); err != nil {
			return nil, err
		}
		if p.Optimiser == Proximal {
			model.ProximalStep(theta, g, d.cavity, p.LearningRate, p.sdUnit())
		} else {
			d.chart.Pull(g, theta, d.cavity)
			opt.Step(theta, g)
		}
		d.chart.Confine(theta, start)
	}
	return d.natural(q, theta)
}

// natural returns theta as natural parameters, or q if the steps diverged so far that they
// are not finite: the party then has no update in this round. Both are post-processing.
func (d *descent) natural(q, theta []float64) ([]float64, error) {
	next := make([]float64, len(q))
	err := d.chart.Natural(next, theta)
	if errors.Is(err, gauss.ErrImproper) {
		return q, nil
	}
	return finite(next, q), err
}

// proper lifts precisions below the floor: post-processing of noisy sums.
func (c Config) proper(natural []float64) ([]float64, error) {
	raw := make([]int64, len(natural))
	if err := c.roundRaw(raw, natural); err != nil {
		return nil, err
	}
	q, _, err := c.repair(raw)
	if err != nil {
		return nil, err
	}
	return c.Reals(q), nil
}

func (c Config) optimiser() model.Optimiser {
	switch p := c.params(); p.Optimiser {
	case Adagrad:
		return model.NewAdagrad(c.Dim(), p.LearningRate)
	case SGD:
		return model.NewSGD(p.LearningRate)
	}
	return model.NewAdam(c.Dim(), c.params().LearningRate)
}

// gradient writes an estimate of the derivative of the expected log-likelihood of all the
// party's records, unbiased except for clipping.
func (d *descent) gradient(g, theta []float64) error {
	return d.release(g, 1, func(rows []int, f func(int, []float64) error) error {
		return d.chart.RecordGradients(d.ws, theta, rows, f)
	})
}

// statistics returns the cavity plus a noisy sum of the records' natural parameters. In
// units of the releases' clip, StatisticClip is Clip.
func (d *descent) statistics() ([]float64, error) {
	site, ok := d.site.(*model.LinearRecords)
	if !ok {
		return nil, fmt.Errorf("%w: strategy %q has no statistics here", ErrConfig, d.l.cfg.name())
	}
	unit := 1.0
	if h, ok := d.l.cfg.Strategy.(hybrid); ok && d.l.cfg.Clip > 0 {
		unit = h.StatisticClip / d.l.cfg.Clip
	}
	out := make([]float64, len(d.cavity))
	err := d.release(out, unit, func(rows []int, f func(int, []float64) error) error {
		return site.RecordStatistics(d.ws, rows, f)
	})
	for i, x := range d.cavity {
		out[i] += x
	}
	return out, err
}

// release is one noisy sum over a new sample of records: dst estimates the sum over all of
// them. Each record's vector over unit is clipped to Clip on the integers. With a clip, a
// vector that is not finite counts as 0: an error would reveal the record.
func (d *descent) release(dst []float64, unit float64, each func(rows []int,
	f func(int, []float64) error) error) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	rows, scale, err := d.l.cfg.draw(d.site.Rows(), d.l.noise.rand)
	if err != nil {
		return err
	}
	clear(d.sum)
	if err := each(rows, func(_ int, v []float64) error { return d.add(v, unit) }); err != nil {
		return err
	}
	if d.observe != nil {
		d.observe(d.sum)
	}
	if err := d.l.noise.add(d.sum, d.scratch); err != nil {
		return err
	}
	back := math.Ldexp(unit*scale, -int(d.l.cfg.FracBits))
	for i, x := range d.sum {
		dst[i] = float64(x) * back
	}
	return nil
}

func (d *descent) add(v []float64, unit float64) error {
	if unit != 1 {
		for i := range v {
			v[i] /= unit
		}
	}
	d.seen++
	if d.seen%256 == 0 && d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	cut, err := d.terms.Add(d.sum, v)
	unfit := errors.Is(err, fixedpoint.ErrNotFinite) || errors.Is(err, fixedpoint.ErrRange)
	if cut || unfit {
		d.clipped++
	}
	if unfit && d.l.cfg.Clip > 0 {
		return nil
	}
	return err
}

// terms returns a sum of records under the configuration's clip.
func (c Config) terms() (*Terms, error) {
	if c.Clip == 0 {
		return NewTerms(c.grid(), 0, 0), nil
	}
	bound, err := c.clipUnits()
	return NewTerms(c.grid(), c.Clip, bound), err
}
