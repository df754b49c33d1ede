package reading

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
)

// attend runs parties that count in the rounds that sets name, from 0, with noise of this standard deviation
// on every contribution, and returns what rounds revealed.
func attend(t *testing.T, c pvi.Config, parts []bayes.Data, shares []float64, sets [][]int,
	sd float64) []Observation {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 10))
	units := sd * math.Ldexp(1, int(c.FracBits))
	var learners []*pvi.Learner
	var states [][]byte
	records := 0
	for k, d := range parts {
		learners = append(learners, learner(t, c, d, shares[k]))
		states = append(states, learners[k].InitialState())
		records += d.Rows()
	}
	raw := c.Initial()
	var trace []Observation
	for s, set := range sets {
		sum, counted := make([]int64, c.Dim()), 0.0
		for _, k := range set {
			states[k] = add(t, sum, learners[k], s+1, raw, states[k])
			counted += shares[k]
		}
		for i := range sum {
			sum[i] += int64(units * math.Sqrt(float64(len(set))) * r.NormFloat64())
		}
		trace = append(trace, Observation{Round: s + 1, Raw: raw, Sum: sum, Parties: len(set),
			Absent: len(parts) - len(set), Set: set, Variance: units * units * float64(len(set)),
			Shares: shares, Records: float64(records) * counted})
		raw = fold(t, c, s+1, raw, sum)
	}
	return trace
}

// TestAbsentPartiesAreMixtures: parties whose records are copies of the same ones, twice as many at one, come
// late, stay away and leave, and one never comes. Without noise the left side of every round is the mixture
// of the best factors of all records of the others, with factors of their own and with tied ones.
func TestAbsentPartiesAreMixtures(t *testing.T) {
	sets := [][]int{{0}, {0, 1}, {2}, {0, 1, 2}, {1}, {1, 2}, {0}}
	for _, beta := range []float64{0, 0.5} {
		c := oneRow(len(sets))
		c.Clip = 0
		c.Beta = beta
		c.StartPrecision = 40
		d := dense(c, 3, 40)
		twice := bayes.Data{X: slices.Concat(d.X, d.X), Y: slices.Concat(d.Y, d.Y)}
		trace := attend(t, c, []bayes.Data{d, twice, d, d}, []float64{0.2, 0.4, 0.2, 0.2}, sets, 0)
		r := reading{c: c, prior: priorOf(c), attendance: attended(c, trace)}
		own := c
		own.Beta = 0
		own.StartPrecision = 0
		both := bayes.Data{X: slices.Concat(twice.X, twice.X), Y: slices.Concat(twice.Y, twice.Y)}
		all := learner(t, own, both, 1)
		var best [][]float64
		for s, o := range trace {
			if err := r.addRound(o); err != nil {
				t.Fatal(err)
			}
			sum := make([]int64, c.Dim())
			add(t, sum, all, 1, o.Raw, all.InitialState())
			best = append(best, nil)
			for _, x := range sum {
				best[s] = append(best[s], math.Ldexp(float64(x), -int(c.FracBits)))
			}
			for i, got := range r.naturals[s] {
				want := 0.0
				for j, share := range r.sides[s].mix {
					want += share * best[j][i]
				}
				if math.Abs(got-want) > 1e-3 {
					t.Errorf("beta %v, round %d: %d is %v, want %v", beta, s+1, i, got, want)
				}
			}
		}
		if old := 1 - r.sides[5].mix[5]; old < 0.05 { // party 0 has been in three rounds
			t.Errorf("beta %v: a share of %v is from earlier rounds", beta, old)
		}
	}
}

// TestAttendanceErrors: scores that lack one of two parties, over their share, err by that of a sample of
// half of the records in every round, and with full attendance there is nothing to know.
func TestAttendanceErrors(t *testing.T) {
	c := oneRow(2)
	c.StartPrecision = 0
	trace := []Observation{{Round: 1, Set: []int{0}}, {Round: 2, Set: []int{0}}, {Round: 3, Set: []int{0, 1}}}
	for i := range trace {
		trace[i].Shares = []float64{0.5, 0.5}
	}
	if a := attended(c, trace); a != nil {
		t.Errorf("a party that no round of learning counts is in %+v", a)
	}
	c.CurvatureFrom = 4
	a := attended(c, trace)
	for s := range 3 {
		a.side(s)
	}
	errors := a.errors()
	for s, want := range []float64{1, 1, 0} {
		if got := errors.At(0, s); math.Abs(got-want) > 1e-12 {
			t.Errorf("covariance of rounds 1 and %d is %v, want %v", s+1, got, want)
		}
	}
	for i := range trace {
		trace[i].Set = []int{0, 1}
	}
	if a := attended(c, trace); a != nil {
		t.Errorf("full attendance is %+v", a)
	}
}

// TestRarelyCounted: with one party of five a round, and a clip that cuts most updates, the true weights stay
// within four standard deviations, which are a quarter of the prior's on average at most.
func TestRarelyCounted(t *testing.T) {
	const parties, rounds = 5, 10
	c := oneRow(rounds)
	c.Clip = 0.6
	c.CurvatureBound = 1
	c.StartPrecision = 20
	var parts []bayes.Data
	var shares []float64
	var sets [][]int
	var everybody []int
	for k := range parties {
		parts = append(parts, logits(c, uint64(30+k), 300))
		shares = append(shares, 1.0/parties)
		everybody = append(everybody, k)
	}
	for s := range rounds + c.CurvatureSlices() {
		set := []int{s % parties}
		if s >= rounds {
			set = everybody
		}
		sets = append(sets, set)
	}
	q, err := NoiseAware(c, attend(t, c, parts, shares, sets, 2))
	if err != nil {
		t.Fatal(err)
	}
	wide := 0.0
	for i, w := range []float64{1.5, -1, 0, 0.5} {
		if z := (q.Mean()[i] - w) / q.SD()[i]; math.Abs(z) > 4 {
			t.Errorf("weight %d is %v, %.1f sd of %v from %v", i, q.Mean()[i], z, q.SD()[i], w)
		}
		wide += q.SD()[i] / 4
	}
	if wide > 0.25 {
		t.Errorf("the mean sd is %v", wide)
	}
}

// logits are records of a logistic model with the weights 1.5, -1, 0 and 0.5.
func logits(c pvi.Config, seed uint64, n int) bayes.Data {
	d := dense(c, seed, n)
	r := rand.New(rand.NewPCG(seed, 4))
	for i := range d.Y {
		x := d.X[i*c.Features:]
		d.Y[i] = 0
		if r.Float64() < 1/(1+math.Exp(x[1]-1.5*x[0]-0.5)) {
			d.Y[i] = 1
		}
	}
	return d
}
