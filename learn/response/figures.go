package response

import (
	"fmt"
	"math"
	"slices"

	"choir/learn/table"
)

// shownQuantiles are the quantiles that figures have.
var shownQuantiles = []struct {
	name string
	p    float64
}{{"5%", 0.05}, {"25%", 0.25}, {"50%", 0.5}, {"75%", 0.75}, {"95%", 0.95}}

// Figures returns the estimates from the counts of all reports of some rounds, with central intervals of
// the given probability. Counts are those of an average round. All is computed from the counts: it costs no
// privacy. An error reports counts that no reports lead to.
func (s *Survey) Figures(counts []int64, rounds int, level float64) ([]table.Row, error) {
	if len(counts) != s.dim || rounds < 1 {
		return nil, fmt.Errorf("response: %d counts of %d rounds, want %d", len(counts), rounds, s.dim)
	}
	f := &figures{z: math.Sqrt2 * math.Erfinv(level), rounds: float64(rounds)}
	for i, q := range s.questions {
		block := counts[q.at : q.at+q.cells()]
		n, err := q.sum(block)
		switch {
		case err != nil:
			return nil, fmt.Errorf("column %q: %w", q.name, err)
		case i > 0 && n != f.reports && !s.cfg.Single:
			return nil, fmt.Errorf("column %q: %.0f reports, and %.0f of %q: a record reports each once, so somebody "+
				"added what no report is", q.name, n, f.reports, s.questions[0].name)
		case i == 0:
			records := n / f.rounds
			f.rows = append(f.rows, table.Row{Table: "records", Statistic: "count", Value: records, Lower: records,
				Upper: records})
		}
		f.reports = n
		if err := f.add(s.cfg.Estimate, q, block); err != nil {
			return nil, err
		}
	}
	return f.rows, nil
}

type figures struct {
	z       float64
	rounds  float64
	reports float64 // of a column, in all rounds
	rows    []table.Row
}

// put adds a figure with the deviations that the reports' randomness and the sample give it.
func (f *figures) put(q question, level, statistic string, value, noise, sample, lo, hi float64) {
	sd := math.Hypot(noise, sample)
	clamp := func(v float64) float64 { return math.Min(math.Max(v, lo), hi) }
	f.rows = append(f.rows, table.Row{Table: q.name, Level: level, Statistic: statistic, Value: clamp(value),
		NoiseSD: noise, Lower: clamp(value - f.z*sd), Upper: clamp(value + f.z*sd)})
}

func (f *figures) add(e Estimand, q question, counts []int64) error {
	if q.noise != nil {
		f.noisy(e, q, counts)
		return nil
	}
	for v, c := range counts {
		f.put(q, q.levels[v], "reports", float64(c), 0, 0, 0, math.Inf(1))
	}
	switch e {
	case Mean:
		return f.mean(q, counts)
	case Quantile:
		return f.quantiles(q, counts)
	}
	all, err := q.Histogram(counts)
	if err != nil {
		return err
	}
	records := f.reports / f.rounds
	for v, x := range all {
		f.put(q, q.levels[v], "count", x.Value/f.rounds, x.SD/f.rounds, 0, 0, math.Inf(1))
		p := math.Min(1, math.Max(0, x.Value/f.reports))
		f.put(q, q.levels[v], "share", x.Value/f.reports, x.SD/f.reports, math.Sqrt(p*(1-p)/records), 0, 1)
	}
	return nil
}

// mean divides the variance of a report into that of its randomness, which all rounds average, and that
// of the values, which the rounds have in common.
func (f *figures) mean(q question, counts []int64) error {
	m, err := q.Mean(counts)
	if err != nil {
		return err
	}
	k := float64(q.categories)
	squares := 0.0
	for v, c := range counts {
		x := float64(v) / (k - 1)
		squares += float64(c) * x * x / f.reports
	}
	g := q.Gamma()
	uniform := (2*k - 1) / (6 * (k - 1)) // mean square of a uniform level
	among := math.Min(0.25, math.Max(0, (squares-g*uniform)/(1-g)-m.Value*m.Value))
	noise := math.Sqrt(math.Max(0, m.SD*m.SD-among/f.reports))
	width := q.number.Hi - q.number.Lo
	f.put(q, "", "mean", q.place(m.Value), width*noise, width*math.Sqrt(among*f.rounds/f.reports), q.number.Lo,
		q.number.Hi)
	return nil
}

// quantiles inverts the estimated distribution.
func (f *figures) quantiles(q question, counts []int64) error {
	all, err := q.Histogram(counts)
	if err != nil {
		return err
	}
	below := monotone(all, f.reports)
	g := q.Gamma()
	f.inverted(q, below, func(p float64, v float64) float64 {
		other := g * (v - q.number.Lo) / (q.number.Hi - q.number.Lo) // a random report is below
		own := 1 - g + other
		return math.Sqrt((p*own*(1-own)+(1-p)*other*(1-other))/f.reports) / (1 - g)
	})
	return nil
}

// inverted adds the quantiles of a distribution function at the bins' bounds: at p, and at p plus and minus
// its deviation there, of which noise, at p and a value, is the part of the reports' randomness.
func (f *figures) inverted(q question, below []float64, noise func(p, value float64) float64) {
	at := func(p float64) float64 {
		for b := range below[1:] {
			if below[b+1] >= p && below[b+1] > below[b] {
				share := math.Max(0, (p-below[b])/(below[b+1]-below[b]))
				return q.bound(b) + share*(q.bound(b+1)-q.bound(b))
			}
		}
		return q.number.Hi
	}
	for _, w := range shownQuantiles {
		v := at(w.p)
		own := noise(w.p, v)
		sd := math.Hypot(own, math.Sqrt(w.p*(1-w.p)*f.rounds/f.reports))
		lo, hi := q.number.Lo, q.number.Hi
		if p := w.p - f.z*sd; p > 0 {
			lo = at(p)
		}
		if p := w.p + f.z*sd; p < 1 {
			hi = at(p)
		}
		f.rows = append(f.rows, table.Row{Table: q.name, Level: w.name, Statistic: "quantile", Value: v,
			NoiseSD: (hi - lo) / (2 * f.z) * own / sd, Lower: math.Min(lo, v), Upper: math.Max(hi, v)})
	}
}

// monotone is the cumulative distribution of estimated counts at the bins' bounds, made monotone.
func monotone(all []Estimate, reports float64) []float64 {
	raw := make([]float64, len(all)+1)
	for b, e := range all {
		raw[b+1] = raw[b] + e.Value/reports
	}
	return smooth(raw)
}

// smooth makes an estimated distribution monotone: halfway between the largest value so far and the least to
// come, within [0, 1].
func smooth(raw []float64) []float64 {
	out := slices.Clone(raw)
	for b := range raw[1:] {
		out[b+1] = math.Max(out[b], raw[b+1])
	}
	least := 1.0
	for b := len(raw) - 1; b >= 0; b-- {
		least = math.Min(least, raw[b])
		out[b] = math.Min(1, math.Max(0, (out[b]+least)/2))
	}
	return out
}
