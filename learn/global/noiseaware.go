package global

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
	"choir/learn/pvi/reading"
)

// NoiseAware returns the posterior that counts the noise on the revealed sums and that of the
// samples, from all rounds in order. A round reveals the score of its sample at the public
// mean, with its own noise; all of them count, and not only the last state. It needs
// curvature rounds. Errors: pvi.ErrUncorrected without them or for another model than
// logistic regression, ErrShape, gauss.ErrImproper.
func (c Config) NoiseAware(trace []reading.Observation) (*bayes.Posterior, error) {
	if c.Model != bayes.Logistic || c.CurvatureFrom == 0 {
		return nil, fmt.Errorf("%w: global inference without curvature rounds", pvi.ErrUncorrected)
	}
	a := attended(trace)
	t := noiseaware.Trace{Prior: c.PriorPrecision, Records: a.records(c.Records), Terms: c.terms()}
	var noise [][]float64 // of a round's score, by coordinate
	var scores []int      // which observations are scores
	k := newEntries(c, a)
	for at, o := range trace {
		s, err := c.open(o.Raw)
		if err != nil || len(o.Sum) != c.Dim() {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, ErrShape)
		}
		mean, spread := c.around(s)
		if c.curvatureRound(o.Round) {
			k.add(o, at)
			t.CurvaturePoint, t.CurvatureSpread = mean, spread
			t.Public, _ = c.parameters(s.mean)
			continue
		}
		t.Spread = append(t.Spread, spread)
		score, variance := c.score(s, o, a.share(at))
		t.Points = append(t.Points, mean)
		t.Scores = append(t.Scores, score)
		t.Sampling = append(t.Sampling, (1-c.SampleRate)/c.SampleRate/a.share(at))
		noise = append(noise, variance)
		scores = append(scores, at)
	}
	t.Whole = true // parties' clips are beyond the usual length of a gradient
	t.Of = &cutGradients{c, t.Points, t.Spread, t.CurvaturePoint, t.CurvatureSpread}
	var ok bool
	if t.Curvature, ok = k.curvature(); !ok || len(noise) == 0 {
		return nil, fmt.Errorf("%w: the curvature rounds are not complete", pvi.ErrUncorrected)
	}
	t.Noise = diagonalOf(noise)
	t.Errors = a.errors(scores)
	if drowned(noise, t.Records) {
		return c.likelihood().With(c.nothing(), nil, false)
	}
	t.Variance = func(weights []float64) []float64 {
		out := make([]float64, c.weights())
		for s, w := range weights {
			floats.AddScaled(out, w*w, noise[s])
		}
		return out
	}
	return c.posterior(t)
}

// around are the means and the variances of a state's last parameters.
func (c Config) around(s state) (mean, variance []float64) {
	mean, logSD := c.parameters(s.param)
	variance = make([]float64, len(logSD))
	for i, v := range logSD {
		variance[i] = math.Exp(2 * v)
	}
	return mean, variance
}

func (c Config) posterior(t noiseaware.Trace) (*bayes.Posterior, error) {
	m, single, err := t.Posterior()
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	rare, err := t.Rare()
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	return c.likelihood().With(m, single, rare)
}

// diagonalOf has the rounds' mean variances.
func diagonalOf(noise [][]float64) *mat.SymDense {
	m := mat.NewSymDense(len(noise), nil)
	for s, v := range noise {
		m.SetSym(s, s, floats.Sum(v)/float64(len(v)))
	}
	return m
}

// drowned reports whether the noise on the mean of the rounds' scores is longer than the number of
// records: along a column of mean square 1 all records' gradients add up to less, for any data.
func drowned(noise [][]float64, records float64) bool {
	total := 0.0
	for _, v := range noise {
		total += floats.Sum(v)
	}
	rounds := float64(len(noise))
	return total/(rounds*rounds) > records*records
}

// nothing is the prior.
func (c Config) nothing() *gauss.Moments {
	d := c.weights()
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	floats.AddConst(1/c.PriorPrecision, m.Variance)
	return m
}

// score is the estimate of all records' score in a round that counts a share of them, and the variance of the
// noise on it. A sum of natural steps is in units of the posterior's standard deviations.
func (c Config) score(s state, o reading.Observation, share float64) (score, variance []float64) {
	d := c.weights()
	_, logSD := c.parameters(s.param)
	score, variance = make([]float64, d), make([]float64, d)
	for i := range d {
		unit := math.Ldexp(1, -int(c.FracBits)) / c.SampleRate / share
		if c.Optimiser == Natural {
			unit *= math.Exp(-logSD[i])
		}
		score[i] = float64(o.Sum[i]) * unit
		variance[i] = o.Variance * unit * unit
	}
	return score, variance
}

// entries adds up the curvature rounds.
type entries struct {
	c              Config
	attendance     attendance
	sum, count, of []float64 // by entry: sums, shares of the records in them, variances of the sums
	rounds         [][]int   // by slice: its observations
}

func newEntries(c Config, a attendance) *entries {
	n := c.weights() * (c.weights() + 1) / 2
	return &entries{c, a, make([]float64, n), make([]float64, n), make([]float64, n),
		make([][]int, c.CurvatureSlices())}
}

// add adds the observation at a place of the trace.
func (e *entries) add(o reading.Observation, at int) {
	unit := math.Ldexp(1, -int(e.c.FracBits)) / e.c.SampleRate / e.c.curvatureScale()
	from := e.c.sliceStart(o.Round)
	for i := 0; i < e.c.Dim() && from+i < len(e.sum); i++ {
		e.sum[from+i] += float64(o.Sum[i]) * unit
		e.count[from+i] += e.attendance.share(at)
		e.of[from+i] += o.Variance * unit * unit
	}
	slice := from / e.c.Dim()
	e.rounds[slice] = append(e.rounds[slice], at)
}

// curvature returns the mean of the rounds over their shares of the records, and false if an entry is
// missing. The error of a sample of the share q on an entry has about the variance (1-q)/q of the mean square
// of the diagonal over the number of records.
func (e *entries) curvature() (noiseaware.Curvature, bool) {
	d := e.c.weights()
	out := noiseaware.Curvature{Matrix: mat.NewSymDense(d, nil)}
	at, total, rounds, square := 0, 0.0, math.Inf(1), 0.0
	for i := range d {
		for j := i; j < d; j++ {
			if e.count[at] == 0 {
				return out, false
			}
			v := e.sum[at] / e.count[at]
			total += e.of[at] / (e.count[at] * e.count[at])
			rounds = min(rounds, e.count[at])
			if i == j {
				square += v * v / float64(d)
			} else {
				v /= math.Sqrt2
			}
			out.Matrix.SetSym(i, j, v)
			at++
		}
	}
	q, lack := e.c.SampleRate, 0.0
	for _, of := range e.rounds {
		lack += e.attendance.missing(of) / float64(len(e.rounds))
	}
	records := e.attendance.records(e.c.Records)
	out.SD = math.Sqrt(total/float64(at)/2 + (1-q)/q*square/records/rounds + lack*square/records)
	return out, true
}
