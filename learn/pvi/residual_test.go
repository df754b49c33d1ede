package pvi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// residualConfig is linear regression of a record a shard whose rounds from one on sum squares of residuals.
func residualConfig(f gauss.Family, from int) Config {
	c := clippedLinear(f)
	c.Beta = 0
	c.Clip = 60
	c.Features = 3
	c.NoiseSD = 0.7
	c.StartPrecision = 20
	c.Strategy = Virtual{Shards: 4096, ShardRows: 1}
	c.ResidualFrom = from
	return c
}

// TestResidualSensitivity: a record that replaces another moves the sum of a residual round by at most the
// sensitivity, and nearly as far, and leaves the count of shards; one that is added moves it as little; no
// term is longer than a party's bound takes it to be.
func TestResidualSensitivity(t *testing.T) {
	for _, rows := range []int{1, 3} {
		c := residualConfig(gauss.MeanField, 2)
		c.Strategy = Virtual{Shards: 4096, ShardRows: rows}
		limit, err := c.Sensitivity(ReplaceRecord)
		if err != nil {
			t.Fatal(err)
		}
		weights := []float64{1.5, -1, 0.5}
		sums := func(d bayes.Data) []int64 {
			l := learner(t, c, d, 1)
			p, err := l.ProposeResiduals(2, weights, l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			return p.Update
		}
		far := 0.0
		moved := func(a, b []int64) {
			square := 0.0
			for i, x := range a {
				square += float64(x-b[i]) * float64(x-b[i])
			}
			far = max(far, math.Sqrt(square)/float64(limit))
		}
		data := dense(c, 5, 30)
		data.Y[7] = weights[0]*data.X[7*3] - data.X[7*3+1] + 0.5
		before := sums(data)
		for _, y := range []float64{-3, 0, 1e3, -1e160, math.MaxFloat64} {
			other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
			other.Y[7] = y
			other.X[7*3] *= y
			after := sums(other)
			moved(before, after)
			if before[1] != after[1] {
				t.Errorf("%d records a shard: a record's value moves the count by %d", rows, after[1]-before[1])
			}
			moved(sums(bayes.Data{X: other.X[7*3 : 8*3], Y: other.Y[7:8]}), make([]int64, c.Dim()))
		}
		if far > 1 || far < 0.9 {
			t.Errorf("%d records a shard: a record moves the sum by %.3f of the sensitivity", rows, far)
		}
	}
}

// TestResidualIsTotal: for any record and weights the term is that of a share between 0 and 1.
func TestResidualIsTotal(t *testing.T) {
	c := residualConfig(gauss.MeanField, 2)
	values := []float64{0, -1, 1e-300, 1e200, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, y := range values {
		for _, x := range values {
			for _, w := range values {
				got := c.residual(bayes.Data{X: []float64{x, -x, 1}, Y: []float64{y}}, 0, []float64{w, w, 0.5})
				if !(got >= 0 && got <= 1) {
					t.Fatalf("target %g, columns %g, weights %g: a share of %g", y, x, w, got)
				}
			}
		}
	}
}

// TestUpTo: no share leaves the interval, also where the reach is between two floating-point numbers.
func TestUpTo(t *testing.T) {
	for _, reach := range []int64{1, 64, 1<<62 - 1, math.MaxInt64 - 1} {
		for _, share := range []float64{0, 0.3, math.Nextafter(1, 0), 1, math.Nextafter(1, 2), math.Inf(1)} {
			if got := upTo(reach, share); got < 0 || got > reach || share >= 1 && got != reach {
				t.Errorf("%g of %d: %d", share, reach, got)
			}
		}
	}
}

// TestResidualRoundsKeepTheState: neither the public state nor a factor changes, and a round that is not for
// residuals sums none.
func TestResidualRoundsKeepTheState(t *testing.T) {
	c := residualConfig(gauss.MeanField, 3)
	l := learner(t, c, dense(c, 4, 30), 1)
	if p := keepsState(t, c, l, 3); p.Update[1] == 0 || slices.Max(p.Update[2:]) != 0 {
		t.Errorf("update %v", p.Update)
	}
	if _, err := l.ProposeResiduals(2, make([]float64, 3), l.InitialState()); !errors.Is(err, ErrRound) {
		t.Errorf("residuals in a round that learns: %v, want ErrRound", err)
	}
}

// TestResidualsMeasureTheNoise: the posterior predicts with the noise that the data have and not with the
// plan's, whatever the noise on the sums, which does not learn less; an absent party changes nothing.
func TestResidualsMeasureTheNoise(t *testing.T) {
	const rounds, n, own = 12, 3000, 0.3
	for _, f := range []gauss.Family{gauss.MeanField, gauss.Full} {
		c := residualConfig(f, rounds+1)
		quiet := c
		quiet.NoiseSD = own
		data := dense(quiet, 6, n)
		for _, sd := range []float64{0, 40} { // of a sum, in units of the grid's 1; the clip is 60
			trace := observe(t, c, data, rounds, sd)
			plain, err := c.NoiseAware(trace)
			if err != nil {
				t.Fatal(err)
			}
			l := learner(t, c, data, 1)
			p, err := l.ProposeResiduals(rounds+1, plain.Mean(), l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			o := trace[rounds-1]
			o.Round, o.Sum, o.Parties, o.Absent = rounds+1, slices.Clone(p.Update), 3, 1
			r := rand.New(rand.NewPCG(9, 9))
			for i := range o.Sum {
				o.Sum[i] += int64(math.Sqrt(o.Variance) * r.NormFloat64())
			}
			q, err := c.NoiseAware(append(trace, o))
			if err != nil {
				t.Fatal(err)
			}
			// The share of the limit has the noise sd/(2 clip n), the mean square of n residuals own^2
			// root(2/n).
			v := q.Likelihood().NoiseSD * q.Likelihood().NoiseSD
			tol := 5 * math.Hypot(ResidualLimit*c.NoiseSD*c.NoiseSD*sd/(2*c.Clip*n), own*own*math.Sqrt(2.0/n))
			m := q.Measured()
			if math.Abs(v-own*own) > tol || m == nil || m.Assumed != c.NoiseSD || !(m.Lower <= own && own <= m.Upper) {
				t.Errorf("%s, noise %g: variance %g, want %g +- %g; %+v", f, sd, v, own*own, tol, m)
			}
			if !slices.Equal(q.Mean(), plain.Mean()) || !slices.Equal(q.SD(), plain.SD()) {
				t.Errorf("%s, noise %g: residuals move the weights", f, sd)
			}
			if plain.Measured() != nil || plain.Likelihood().NoiseSD != c.NoiseSD {
				t.Errorf("%s: noise %+v before residuals", f, plain.Measured())
			}
		}
	}
}

// TestResidualsWithoutAParty: a residual round counts the records of the parties that answer, whether another
// one misses that round, earlier ones, or all others. The noise is that of the data, and the records that the
// weights are learnt from are those of all parties that learn.
func TestResidualsWithoutAParty(t *testing.T) {
	const rounds, own = 12, 0.3
	rows := []int{1500, 900, 600}
	shares := []float64{0.5, 0.3, 0.2}
	c := residualConfig(gauss.MeanField, rounds+1)
	quiet := c
	quiet.NoiseSD = own
	var parts []bayes.Data
	for k, n := range rows {
		parts = append(parts, dense(quiet, uint64(10+k), n))
	}
	for name, absent := range map[string]func(round int) bool{
		"the residual round": func(round int) bool { return round == rounds },
		"earlier rounds":     func(round int) bool { return round < rounds && round%3 == 1 },
		"the first rounds":   func(round int) bool { return round < 6 },
		"rounds of learning": func(round int) bool { return round < rounds },
	} {
		for _, sd := range []float64{0, 10} { // of a party's contribution; the clip is 60
			var sets [][]int
			for round := range rounds + 1 {
				if set := []int{0, 2}; absent(round) {
					sets = append(sets, set)
				} else {
					sets = append(sets, []int{0, 1, 2})
				}
			}
			trace := attend(t, c, parts, shares, sets, sd)
			learnt, answered := rows[0]+rows[2], 0
			if !absent(0) || !absent(rounds-1) {
				learnt += rows[1]
			}
			for _, k := range sets[rounds] {
				answered += rows[k]
			}
			last := trace[rounds]
			one := c.Clip - c.Clip/8
			got := math.Ldexp(float64(last.Sum[1]), -int(c.FracBits)) / one
			noise := sd * math.Sqrt(float64(len(last.Set)))
			if math.Abs(got-float64(answered)) > 5*noise/one+1e-9 {
				t.Errorf("without a party in %s, noise %g: %g records, want %d", name, sd, got, answered)
			}
			r := reading{c: c, attendance: c.attendance(trace)}
			if n := r.others(last) * float64(answered); math.Abs(n-float64(learnt)) > 1e-6 {
				t.Errorf("without a party in %s: learnt from %g records, want %d", name, n, learnt)
			}
			q, err := c.NoiseAware(trace)
			if err != nil {
				t.Fatal(err)
			}
			// As in TestResidualsMeasureTheNoise.
			n := float64(answered)
			tol := 5 * math.Hypot(ResidualLimit*c.NoiseSD*c.NoiseSD*noise/(2*c.Clip*n), own*own*math.Sqrt(2/n))
			v, m := q.Likelihood().NoiseSD*q.Likelihood().NoiseSD, q.Measured()
			if math.Abs(v-own*own) > tol || m == nil || !(m.Lower <= own && own <= m.Upper) {
				t.Errorf("without a party in %s, noise %g: variance %g, want %g +- %g; %+v", name, sd, v, own*own,
					tol, m)
			}
		}
	}
}

// TestResidualsThatNoiseHides: where the noise hides how many records there are, or other parties' records
// were summed, the noise is the plan's.
func TestResidualsThatNoiseHides(t *testing.T) {
	c := residualConfig(gauss.MeanField, 5)
	trace := observe(t, c, dense(c, 6, 50), 5, 1)
	for name, change := range map[string]func(o *Observation){
		"noise":  func(o *Observation) { o.Variance *= 1e9 },
		"others": func(o *Observation) { o.Others = true },
		"none":   func(o *Observation) { clear(o.Sum) },
	} {
		all := slices.Clone(trace)
		all[4].Sum = slices.Clone(all[4].Sum)
		change(&all[4])
		q, err := c.NoiseAware(all)
		if err != nil || q.Measured() != nil || q.Likelihood().NoiseSD != c.NoiseSD {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
}

func TestResidualConfig(t *testing.T) {
	good := residualConfig(gauss.MeanField, 5)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := good.Mechanism()
	without := good
	without.ResidualFrom = 0
	w, other := without.Mechanism()
	if err != nil || other != nil || m.Sensitivity != w.Sensitivity || m.PerParty != 2*w.PerParty {
		t.Errorf("mechanism %+v, without residuals %+v; %v, %v", m, w, err, other)
	}
	for name, change := range map[string]func(c *Config){
		"first round":    func(c *Config) { c.ResidualFrom = 1 },
		"before another": func(c *Config) { c.CurvatureFrom, c.CurvatureBound = 5, 1 },
		"no clip":        func(c *Config) { c.Clip = 0 },
		"coarse grid":    func(c *Config) { c.FracBits, c.Clip = 1, 8 },
		"local noise":    func(c *Config) { c.Strategy = Virtual{Shards: 9, ShardRows: 1, Local: true} },
		"whole parties":  func(c *Config) { c.Strategy = Virtual{Shards: 9} },
		"dataset":        func(c *Config) { c.Strategy = Dataset{} },
	} {
		c := good
		change(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
