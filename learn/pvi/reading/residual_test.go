package reading

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

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
			plain, err := NoiseAware(c, trace)
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
			q, err := NoiseAware(c, append(trace, o))
			if err != nil {
				t.Fatal(err)
			}
			// The share of the limit has the noise sd/(2 clip n), the mean square of n residuals own^2
			// root(2/n).
			v := q.Likelihood().NoiseSD * q.Likelihood().NoiseSD
			tol := 5 * math.Hypot(pvi.ResidualLimit*c.NoiseSD*c.NoiseSD*sd/(2*c.Clip*n), own*own*math.Sqrt(2.0/n))
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
			r := reading{c: c, attendance: attended(c, trace)}
			if n := r.others(last) * float64(answered); math.Abs(n-float64(learnt)) > 1e-6 {
				t.Errorf("without a party in %s: learnt from %g records, want %d", name, n, learnt)
			}
			q, err := NoiseAware(c, trace)
			if err != nil {
				t.Fatal(err)
			}
			// As in TestResidualsMeasureTheNoise.
			n := float64(answered)
			tol := 5 * math.Hypot(pvi.ResidualLimit*c.NoiseSD*c.NoiseSD*noise/(2*c.Clip*n), own*own*math.Sqrt(2/n))
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
		q, err := NoiseAware(c, all)
		if err != nil || q.Measured() != nil || q.Likelihood().NoiseSD != c.NoiseSD {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
}
