package pvi

import "choir/pvi/model"

// work is the scratch memory of one round at one party.
type work struct {
	l             *Learner
	ws            *model.Workspace
	q, moved      []float64 // the posterior; the posterior over the prior
	cavity        []float64
	factor        []float64
	update        []float64
	private, tied float64 // what a stored factor, and the public posterior over the prior, count in the cavity
	mean          float64 // what an update is divided by: the shards, where they are averaged
}

// newWork starts a round from the public posterior in raw units.
func (l *Learner) newWork(q []int64) *work { return l.newRealWork(l.cfg.floats(q)) }

// newRealWork is newWork with the posterior in real natural parameters.
func (l *Learner) newRealWork(q []float64) *work {
	dim := l.cfg.Dim()
	w := &work{
		l: l, ws: model.NewWorkspace(l.cfg.Weights(), l.maxRows),
		q: q, moved: make([]float64, dim),
		cavity: make([]float64, dim), factor: make([]float64, dim), update: make([]float64, dim),
	}
	w.private, w.tied, w.mean = l.cfg.shares(l.weight)
	l.cfg.toFloat(w.moved, l.cfg.Initial())
	for i := range w.moved {
		w.moved[i] = w.q[i] - w.moved[i]
	}
	return w
}

// shares says how a shard's factor t = (1-Beta) t_stored + Beta w (q / prior) is
// made of what is at hand. Virtual: a stored factor is the shard's own, or the
// party's released one, of which the shard has a part like all others; w is the
// shard's share of all data. Averaging: a shard stands for its whole party, so its
// factor is Shards times what it took in (the divided updates), or the party's
// released one, and w is the party's share.
func (c Config) shares(weight float64) (stored, tied, mean float64) {
	n := float64(c.Shards)
	stored, tied, mean = 1, weight/n, 1
	switch averaging := c.Strategy == Averaging; {
	case averaging && c.released():
		tied, mean = weight, n
	case averaging:
		stored, tied, mean = n, weight, n
	case c.released():
		stored = 1 / n
	}
	return (1 - c.Beta) * stored, c.Beta * tied, mean
}

// propose leaves shard k's free update in w.update, given its stored factor in raw
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

// divide leaves q / t in w.cavity for the stored factor in w.factor.
func (w *work) divide() {
	for i, t := range w.factor {
		w.cavity[i] = w.q[i] - w.private*t - w.tied*w.moved[i]
	}
}

func (w *work) average() {
	if w.mean == 1 {
		return
	}
	for i := range w.update {
		w.update[i] /= w.mean
	}
}
