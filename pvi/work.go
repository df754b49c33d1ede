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
	private, tied float64 // the shares of the private and of the public factor
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
		private: 1 - l.cfg.Beta, tied: l.cfg.Beta * l.weight,
	}
	l.cfg.toFloat(w.moved, l.cfg.Initial())
	for i := range w.moved {
		w.moved[i] = w.q[i] - w.moved[i]
	}
	return w
}

// propose leaves shard k's free update in w.update, given its private factor in raw
// units: the local optimum minus q, with the cavity q / t and t = (1-Beta)
// t_private + Beta w (q / prior).
func (w *work) propose(k int, factor []int64) {
	w.l.cfg.toFloat(w.factor, factor)
	w.optimise(k)
}

func (w *work) optimise(k int) {
	for i, t := range w.factor {
		w.cavity[i] = w.q[i] - w.private*t - w.tied*w.moved[i]
	}
	w.l.sites[k].Update(w.ws, w.update, w.q, w.cavity)
}
