package paper2

import (
	"context"
	"fmt"
	"math"

	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/learn/mcmc"
	"choir/privacy"
)

// point is (theta_1, theta_2): a record is theta_1 + N(0, 2) or theta_1 + theta_2 + N(0, 2),
// with probability 1/2 each. The prior is N(0, 10) and N(0, 1).
type point [2]float64

func logPrior(p point) float64 { return -p[0]*p[0]/20 - p[1]*p[1]/2 }

// logLike is log p(x | p) up to a constant.
func logLike(x float64, p point) float64 {
	u := x - p[0]
	a := 0.5*u*p[1] - 0.25*p[1]*p[1]
	if a > 0 {
		return -0.25*u*u + a + math.Log1p(math.Exp(-a))
	}
	return -0.25*u*u + math.Log1p(math.Exp(a))
}

// mixtureData are the authors' records, number by number.
func mixtureData(n int) []float64 {
	t := twister.New(123)
	x := make([]float64, n)
	for i := range x {
		at := 1.0
		if t.Float() > 0.5 {
			at = 0
		}
		x[i] = at + math.Sqrt2*t.Normal()
	}
	return x
}

// bins are the records by the mean of each of many equal intervals, and how many there are.
func bins(x []float64, count int) (at, n []float64) {
	lo, hi := x[0], x[0]
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	sum, all := make([]float64, count), make([]float64, count)
	for _, v := range x {
		k := min(int((v-lo)/(hi-lo)*float64(count)), count-1)
		sum[k] += v
		all[k]++
	}
	for k, c := range all {
		if c > 0 {
			at, n = append(at, sum[k]/c), append(n, c)
		}
	}
	return at, n
}

// truth are the mean and the variances of the posterior tempered to a number of records, and its
// covariance, by quadrature on a grid between two corners.
func truth(at, n []float64, records float64, lo, hi point, grid int) (mean, variance point, both float64) {
	total := 0.0
	for _, c := range n {
		total += c
	}
	logs, top := make([]float64, grid*grid), math.Inf(-1)
	place := func(i, j int) point {
		return point{lo[0] + (hi[0]-lo[0])*float64(i)/float64(grid-1),
			lo[1] + (hi[1]-lo[1])*float64(j)/float64(grid-1)}
	}
	for i := range grid {
		for j := range grid {
			p := place(i, j)
			l := 0.0
			for k, x := range at {
				l += n[k] * logLike(x, p)
			}
			logs[i*grid+j] = l*records/total + logPrior(p)
			top = max(top, logs[i*grid+j])
		}
	}
	var sum float64
	var square point
	for k, l := range logs {
		w, p := math.Exp(l-top), place(k/grid, k%grid)
		sum += w
		for j := range p {
			mean[j] += w * p[j]
			square[j] += w * p[j] * p[j]
		}
		both += w * p[0] * p[1]
	}
	for j := range mean {
		mean[j] /= sum
		variance[j] = square[j]/sum - mean[j]*mean[j]
	}
	return mean, variance, both/sum - mean[0]*mean[1]
}

// chain is a random walk on the mixture's posterior tempered to records. ratio gives the noisy
// log ratio of the likelihoods and the variance of its noise.
type chain struct {
	step     float64
	rounds   int
	swap     float64 // share of rounds with the free move to the other mode
	barker   bool
	exact    bool // Barker's test by logistic noise, for a ratio without noise
	ratio    func(from, to point, length float64) (noisy, variance float64)
	start    point
	accepted float64 // share of the walk's proposals
	noise    float64 // mean variance
}

// run returns the states.
func (c *chain) run(rng *twister.Twister) []point {
	correction, _ := mcmc.Correction(2)
	at, path, walks := c.start, []point{c.start}, 0.0
	for range c.rounds {
		if c.swap > 0 && rng.Float() < c.swap {
			to := point{at[0] + at[1], -at[1]} // no record's likelihood changes
			if math.Log(rng.Float()) < logPrior(to)-logPrior(at) {
				at = to
			}
			path = append(path, at)
			continue
		}
		walks++
		a, b := c.step*rng.Normal(), c.step*rng.Normal()
		to := point{at[0] + a, at[1] + b}
		noisy, variance := c.ratio(at, to, math.Hypot(a, b))
		noisy += logPrior(to) - logPrior(at)
		c.noise += variance
		ok := false
		switch {
		case c.exact:
			u := rng.Float()
			ok = noisy+math.Log(u/(1-u)) > 0
		case c.barker:
			ok = mcmc.AcceptBarker(noisy+math.Sqrt(max(0, 2-variance))*rng.Normal(),
				correction.Draw(rng.Float()))
		default:
			ok = mcmc.AcceptPenalty(noisy, variance, rng.Float())
		}
		if ok {
			at = to
			c.accepted++
		}
		path = append(path, at)
	}
	c.accepted /= walks
	c.noise /= walks
	return path
}

// onAll is the ratio over all records in bins, with the noise of mu in every round on a clip
// of slope times the step; mu 0 is a variance of 2.
func onAll(at, n []float64, records, slope, mu float64, rng *twister.Twister) func(from, to point,
	length float64) (float64, float64) {
	total := 0.0
	for _, c := range n {
		total += c
	}
	return func(from, to point, length float64) (float64, float64) {
		bound, sum := slope*length, 0.0
		for k, x := range at {
			sum += n[k] * max(-bound, min(bound, logLike(x, to)-logLike(x, from)))
		}
		variance := 2.0
		if mu > 0 {
			sd := 2 * bound * records / total / mu
			variance = sd * sd
		}
		return sum*records/total + math.Sqrt(variance)*rng.Normal(), variance
	}
}

// onBatch is the published ratio: over a fresh batch, clipped, with noise of variance 2 less
// the batch's own. Barker's test takes the variance for 2 as published.
func onBatch(x []float64, records float64, batch int, rng *twister.Twister, seen *batchSeen) func(
	from, to point, _ float64) (float64, float64) {
	bound := 0.99 * math.Sqrt(float64(batch)) / records
	return func(from, to point, _ float64) (float64, float64) {
		var sum, square float64
		for range batch {
			v := x[int(rng.Float()*float64(len(x)))]
			r := logLike(v, to) - logLike(v, from)
			if math.Abs(r) > bound {
				r = math.Copysign(bound, r)
				seen.clipped++
			}
			sum += r
			square += r * r
		}
		b := float64(batch)
		own := (square/b - sum/b*sum/b) * records * records / b
		seen.variance += own
		seen.rounds++
		return records*sum/b + math.Sqrt(2-own)*rng.Normal(), 2
	}
}

// batchSeen counts what batches show.
type batchSeen struct{ clipped, variance, rounds float64 }

// moments are the mean and the variance of a path after burn-in, in the half with theta_2
// above 0 if folded.
func moments(path []point, folded bool) (mean, variance point) {
	for _, p := range path {
		if folded && p[1] < 0 {
			p = point{p[0] + p[1], -p[1]}
		}
		for j := range p {
			mean[j] += p[j] / float64(len(path))
			variance[j] += p[j] * p[j] / float64(len(path))
		}
	}
	for j := range mean {
		variance[j] -= mean[j] * mean[j]
	}
	return mean, variance
}

// published are the reference runs' figures, with their precision.
type mixtureRow struct {
	of, method string
	measure    study.Measure
	bar        float64
	values     []float64
}

// mixtureRuns collects values by seed.
type mixtureRuns struct {
	rows  []*mixtureRow
	quick bool
	x     []float64
	at, n []float64 // 250 bins
}

func (m *mixtureRuns) note(of, method string, measure study.Measure, bar, value float64) {
	for _, r := range m.rows {
		if r.of == of && r.method == method && r.measure == measure {
			r.values = append(r.values, value)
			return
		}
	}
	m.rows = append(m.rows, &mixtureRow{of, method, measure, bar, []float64{value}})
}

func (m *mixtureRuns) rounds(n int) int {
	if m.quick {
		return n / 50
	}
	return n
}

// grid is the number of points of a quadrature in each direction.
func (m *mixtureRuns) grid() int {
	if m.quick {
		return 31
	}
	return 121
}

func mixture(ctx context.Context, o study.Options) (*study.Result, error) {
	size := 1000000
	if o.Quick {
		size = 5000
	}
	m := &mixtureRuns{quick: o.Quick, x: mixtureData(size)}
	m.at, m.n = bins(m.x, 250)
	mean, variance, both := truth(m.at, m.n, 100, point{-2.2, -3.2}, point{3.2, 3.2}, m.grid())
	mu, err := privacy.GaussianMu(1, 2e-6)
	if err != nil {
		return nil, err
	}
	o = o.Begin(4 * o.Seeds)
	for _, seed := range o.Each() {
		rng := twister.New(uint32(seed))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.tempered(rng, mean, variance)
		o.Tell(fmt.Sprintf("tempered to 100 records, seed %d", seed))
		m.clipped(rng)
		m.langevin(rng, mean, variance)
		o.Tell(fmt.Sprintf("clipped ratios and Langevin chains, seed %d", seed))
		m.sharper(rng, mu)
		o.Tell(fmt.Sprintf("tempered to 10,000 records, seed %d", seed))
		m.untempered(rng, mu)
		o.Tell(fmt.Sprintf("the posterior of all records, seed %d", seed))
	}
	r := &study.Result{SchemaVersion: 1, Name: "paper2-mixture", Seeds: o.Seeds, Transport: o.Transport,
		Title: "A mixture of two Gaussians, 10^6 records", Source: "[DP-MCMC], section 5",
		Settings: []study.Setting{{Name: "chains", Value: "20,000 rounds, burn-in 1000; as published: N0 = 100, " +
			"batches of 1000, proposals of variance 0.01, from (0.5, 0)"},
			{Name: "truth", Value: fmt.Sprintf("by quadrature at N0 = 100: mean %.4f, %.4f, variance %.4f, %.4f, "+
				"covariance %.4f", mean[0], mean[1], variance[0], variance[1], both)}},
		Spent: []study.Spent{
			{Method: "as published", Epsilon: corollary(repaired, 1000, 1000000, 20000, 1e-6, true), Delta: 1e-6,
				Accountant: "Theorem 2 repaired", Relation: "replace-one", Noise: "2 less the batch's variance"},
			{Method: "all records", Epsilon: 1, Delta: 2e-6, Accountant: "Gaussian, exact", Relation: "replace-one",
				Noise: "in the test"}}}
	for _, row := range m.rows {
		r.Rows = append(r.Rows, study.Row{Case: row.of, Method: row.method, Measure: row.measure, Bar: row.bar,
			Values: row.values}.Mean())
	}
	return r, nil
}

// tempered are the published chain and those on all records at the same clip and N0.
func (m *mixtureRuns) tempered(rng *twister.Twister, mean, variance point) {
	const of = "N0 = 100"
	rounds := m.rounds(20000)
	burn := rounds / 20
	for _, c := range []struct {
		name   string
		barker bool
		batch  bool
		mu     float64
	}{{"barker, batches", true, true, 0}, {"penalty, batches", false, true, 0},
		{"barker, all records", true, false, 0}, {"barker without privacy", true, false, math.Inf(1)},
		{"penalty, all records, mu 0.0064", false, false, 0.0064 / math.Sqrt(20000)}} {
		var seen batchSeen
		run := chain{step: 0.1, rounds: rounds, barker: c.barker, exact: math.IsInf(c.mu, 1), start: point{0.5, 0},
			ratio: onAll(m.at, m.n, 100, 3, c.mu, rng)}
		if c.batch {
			run.ratio = onBatch(m.x, 100, 1000, rng, &seen)
		}
		path := run.run(rng)
		got, spread := moments(path[burn:], false)
		m.note(of, c.name+", acceptance", study.Coverage, 0, run.accepted)
		for j, name := range []string{"theta 1", "theta 2"} {
			m.note(of, c.name+", error of the mean of "+name, study.Distance, 0, math.Abs(got[j]-mean[j]))
			m.note(of, c.name+", error of the variance of "+name, study.Distance, 0, math.Abs(spread[j]-variance[j]))
		}
		if c.batch {
			m.note(of, c.name+", clipped", study.Coverage, 0, seen.clipped/seen.rounds/1000)
			m.note(of, c.name+", variance of a batch", study.Distance, 0, seen.variance/seen.rounds)
		}
	}
}

// sharper is the penalty test at (1, 2e-6) with larger N0 and free moves between the modes.
func (m *mixtureRuns) sharper(rng *twister.Twister, mu float64) {
	for _, c := range []struct {
		of                  string
		records, step, wide float64
		rounds              int
	}{{"N0 = 10,000 at (1, 2e-6)", 10000, 0.02, 0, 20000}, {"N0 = 1,000 at (1, 2e-6)", 1000, 0.06, 0.4, 20000},
		{"N0 = 10,000 at (1, 2e-6) in 5000 rounds", 10000, 0.02, 0, 5000}} {
		rounds := m.rounds(c.rounds)
		run := chain{step: c.step, rounds: rounds, swap: 0.1, start: point{0.5, 0.3},
			ratio: onAll(m.at, m.n, c.records, 3, mu/math.Sqrt(float64(rounds)), rng)}
		path := run.run(rng)
		mean, variance, _ := truth(m.at, m.n, c.records, point{-1 - c.wide, -1.8 - c.wide},
			point{2 + c.wide, 1.8 + c.wide}, m.grid())
		got, spread := moments(path[rounds/5:], false)
		m.note(c.of, "penalty, acceptance", study.Coverage, 0, run.accepted)
		m.note(c.of, "penalty, variance of the noise", study.Distance, 0, run.noise)
		for j, name := range []string{"theta 1", "theta 2"} {
			m.note(c.of, "penalty, error of the mean of "+name, study.Distance, 0, math.Abs(got[j]-mean[j]))
			m.note(c.of, "penalty, variance over the truth of "+name, study.Distance, 0, spread[j]/variance[j])
		}
	}
}

// untempered is the posterior of all records at (1, 2e-6), approached in three stages.
func (m *mixtureRuns) untempered(rng *twister.Twister, mu float64) {
	start := point{0.5, 0.3}
	var path []point
	var last chain
	for _, s := range []struct {
		records, step, share float64
		rounds               int
	}{{1e4, 0.03, 0.1, 300}, {1e5, 0.008, 0.1, 300}, {1e6, 0.0022, 0.8, 1500}} {
		last = chain{step: s.step, rounds: s.rounds, start: start,
			ratio: onAll(m.at, m.n, s.records, 3, mu*math.Sqrt(s.share/float64(s.rounds)), rng)}
		path = last.run(rng)
		start = path[len(path)-1]
	}
	mean, variance, _ := truth(m.at, m.n, 1e6, point{-0.028, 0.952}, point{0.022, 1.053}, m.grid())
	got, spread := moments(path[300:], true)
	const of = "all records at (1, 2e-6), 2100 rounds"
	m.note(of, "penalty, acceptance of the last stage", study.Coverage, 0, last.accepted)
	for j, name := range []string{"theta 1", "theta 2"} {
		sd := math.Sqrt(variance[j])
		m.note(of, "penalty, error of the mean in sd, "+name, study.Distance, 0.6, math.Abs(got[j]-mean[j])/sd)
		// Within a chain and of its mean: together the pooled variance over the truth. The bars of its mean
		// are those of the pooled standard deviation, 0.85 to 1.2.
		pooled := (spread[j] + (got[j]-mean[j])*(got[j]-mean[j])) / variance[j]
		m.note(of, "penalty, pooled variance over the truth, "+name, study.Distance, 1.2*1.2, pooled)
		m.note(of, "penalty, what the pooled variance lacks of the truth, "+name, study.Distance, 1-0.85*0.85,
			1-pooled)
	}
}
