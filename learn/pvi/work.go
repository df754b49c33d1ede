package pvi

import (
	"choir/learn/gauss"
	"choir/learn/model"
)

// work is the scratch memory of one round at one party.
type work struct {
	l        *Learner
	ws       *model.Workspace
	q, moved []float64 // the posterior; the posterior over the prior
	cavity   []float64
	factor   []float64
	update   []float64
	shares
}

// newWork starts a round from the public posterior in raw units.
func (l *Learner) newWork(q []int64) *work { return l.newRealWork(l.cfg.Reals(q)) }

// newRealWork is newWork with the posterior in real natural parameters.
func (l *Learner) newRealWork(q []float64) *work {
	dim := l.cfg.Dim()
	w := &work{
		l: l, ws: model.NewWorkspace(l.cfg.Weights(), l.maxRows),
		q: q, moved: make([]float64, dim),
		cavity: make([]float64, dim), factor: make([]float64, dim), update: make([]float64, dim),
	}
	w.shares = l.cfg.shares(l.weight)
	l.cfg.toFloat(w.moved, l.cfg.prior())
	for i := range w.moved {
		w.moved[i] = w.q[i] - w.moved[i]
	}
	return w
}

// shares determines how a shard's factor t = (1-Beta) t_private + Beta w (q / prior) is
// computed.
type shares struct {
	stored float64 // weight of the stored factor
	start  float64 // this factor's part of StartPrecision, which is not stored
	spread float64 // of the means of that part
	tied   float64 // weight of the public posterior over the prior
	mean   float64 // divisor of an update: the number of shards, where they are averaged
}

// shares: where a shard's factor is for its own records, the stored factor is its own, or
// its equal part of the party's released one; w is the shard's share of all data. With
// Averaging a shard's factor is for its whole party: Shards times the stored (divided)
// updates, or the party's released factor, and w is the party's share.
func (c Config) shares(weight float64) shares {
	n := float64(c.params().Shards + c.spare.shards)
	s := shares{stored: 1, tied: weight / n, mean: 1}
	switch averaging := c.name() == NameAveraging; {
	case averaging && c.Released():
		s.tied, s.mean = weight, n
	case averaging:
		s.stored = n
		s.tied = weight
		s.mean = n
	case c.Released():
		s.stored = 1 / n
	}
	s.stored *= 1 - c.Beta
	s.start, s.spread = (1-c.Beta)*s.tied*c.StartPrecision, c.StartSpread
	s.tied *= c.Beta
	return s
}

// without writes the cavity q / t. moved is the posterior over the prior.
func (s shares) without(space gauss.Space, dst, q, stored, moved []float64) {
	for i, t := range stored {
		dst[i] = q[i] - s.stored*t - s.tied*moved[i]
	}
	addStart(space, dst, -s.start, s.spread)
}

// addStart multiplies v by a Gaussian of this precision around the fixed means within
// spread, or divides v by it if precision is negative.
func addStart(space gauss.Space, v []float64, precision, spread float64) {
	for i := range space.Features {
		v[i] += precision * spread * model.Uniform(i)
		v[space.Index(i, i)] -= precision / 2
	}
}

// AddStart multiplies v by a share of what all factors together start with, or divides v by it if the
// share is negative.
func (c Config) AddStart(v []float64, share float64) {
	addStart(c.space(), v, share*c.StartPrecision, c.StartSpread)
}

// propose writes shard k's unclipped update to w.update, given its stored factor in raw
// units: the local optimum minus q, with the cavity q / t, over w.mean.
func (w *work) propose(k int, factor []int64) {
	w.l.cfg.toFloat(w.factor, factor)
	w.optimise(k)
}

func (w *work) optimise(k int) {
	w.divide()
	w.l.sites[k].Update(w.ws, w.update, w.q, w.cavity)
	w.average()
}

// divide writes q / t to w.cavity for the stored factor in w.factor.
func (w *work) divide() {
	w.without(w.l.cfg.space(), w.cavity, w.q, w.factor, w.moved)
}

func (w *work) average() {
	if w.mean == 1 {
		return
	}
	for i := range w.update {
		w.update[i] /= w.mean
	}
}
