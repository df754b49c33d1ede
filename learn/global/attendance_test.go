package global

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi/reading"
)

// attend runs parties that count in the rounds that sets name, from 0, and returns what rounds revealed.
func attend(t *testing.T, c Config, parts []bayes.Data, sets [][]int, sd float64) []reading.Observation {
	t.Helper()
	r := rand.New(rand.NewPCG(13, 14))
	units := math.Ldexp(sd, int(c.FracBits))
	var learners []*Learner
	for _, d := range parts {
		learners = append(learners, learner(t, c, d))
	}
	raw := c.Initial()
	var trace []reading.Observation
	for s, set := range sets {
		sum := make([]int64, c.Dim())
		for _, k := range set {
			p, err := learners[k].Propose(t.Context(), s+1, raw, seeded(byte(s), byte(k)))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range p.Update {
				sum[i] += v
			}
		}
		for i := range sum {
			sum[i] += int64(units * math.Sqrt(float64(len(set))) * r.NormFloat64())
		}
		trace = append(trace, reading.Observation{Round: s + 1, Raw: raw, Sum: sum, Parties: len(set),
			Absent: len(parts) - len(set), Set: set, Variance: units * units * float64(len(set))})
		next, err := c.Fold(s+1, raw, sum)
		if err != nil {
			t.Fatal(err)
		}
		raw = next
	}
	return trace
}

// TestAbsentParties: where parties have the same records, a round's score and the curvature are those of all
// parties that come, whoever is absent, and one that never comes has no part in them. An entry of the sums is
// off by half a unit of the grid a record at most.
func TestAbsentParties(t *testing.T) {
	const rounds = 3
	for _, optimiser := range []Optimiser{Adam, Natural} {
		c := curved(rounds, optimiser, 0.1)
		c.Records = 4 * 100
		sets := [][]int{{0, 1, 2}, {0}, {2, 1}}
		for s := range 2 * c.CurvatureSlices() {
			sets = append(sets, [][]int{{1}, {0, 2}}[s/c.CurvatureSlices()])
		}
		d := classes(8, 100, 4)
		trace := attend(t, c, []bayes.Data{d, d, d, d}, sets, 0)
		whole := learner(t, c, bayes.Data{X: slices.Concat(d.X, d.X, d.X), Y: slices.Concat(d.Y, d.Y, d.Y)})
		a := attended(trace)
		if got := a.records(c.Records); got != 300 {
			t.Errorf("%v records of the parties that come, want 300", got)
		}
		part, all := newEntries(c, a), newEntries(c, attended(nil))
		all.attendance.sets = make([][]int, len(trace))
		for at, o := range trace {
			p, err := whole.Propose(t.Context(), o.Round, o.Raw, seeded(1))
			if err != nil {
				t.Fatal(err)
			}
			full := o
			full.Sum = p.Update
			if c.curvatureRound(o.Round) {
				part.add(o, at)
				all.add(full, at)
				continue
			}
			s, err := c.open(o.Raw)
			if err != nil {
				t.Fatal(err)
			}
			_, logSD := c.parameters(s.param)
			got, _ := c.score(s, o, a.share(at))
			want, _ := c.score(s, full, 1)
			for i := range want {
				limit := 300 * math.Ldexp(1, -int(c.FracBits))
				if optimiser == Natural {
					limit *= math.Exp(-logSD[i])
				}
				if math.Abs(got[i]-want[i]) > limit {
					t.Errorf("%s, round %d: score %d is %v, want %v", optimiser, o.Round, i, got[i], want[i])
				}
			}
		}
		for i, want := range all.sum {
			want /= all.count[i]
			limit := 300 * math.Ldexp(1, -int(c.FracBits)) / c.curvatureScale()
			if got := part.sum[i] / part.count[i]; math.Abs(got-want) > limit {
				t.Errorf("%s: entry %d of the curvature is %v, want %v", optimiser, i, got, want)
			}
		}
	}
}

// TestAttendanceErrors: scores of eight parties that are independent, of the variance 1 together, over the
// shares of the parties in each, err by the covariances of 20,000 draws to within five of their standard
// errors: one of ten comparisons fails in 200,000 runs by chance. The variance of a mean over shares is that
// of its parties.
func TestAttendanceErrors(t *testing.T) {
	const parties, draws = 8, 20000
	sets := [][]int{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, {0, 1, 2, 3}, {3, 4, 5}}
	var trace []reading.Observation
	for _, set := range sets {
		trace = append(trace, reading.Observation{Set: set, Parties: len(set), Absent: parties - len(set)})
	}
	a := attended(trace)
	all := []int{0, 1, 2, 3}
	errors := a.errors(all)
	r := rand.New(rand.NewPCG(15, 16))
	var found [4][4]float64
	mean := 0.0
	for range draws {
		var g [parties]float64
		total := 0.0
		for k := range g {
			g[k] = r.NormFloat64() / math.Sqrt(parties)
			total += g[k]
		}
		var off [4]float64
		sum, shares := 0.0, 0.0
		for s, set := range sets {
			part := 0.0
			for _, k := range set {
				part += g[k]
			}
			off[s] = part*parties/float64(len(set)) - total
			sum += part
			shares += float64(len(set)) / parties
		}
		mean += (sum/shares - total) * (sum/shares - total) / draws
		for i := range off {
			for j := range off {
				found[i][j] += off[i] * off[j] / draws
			}
		}
	}
	for i := range sets {
		for j := range i + 1 {
			v := errors.At(i, j)
			limit := 5*math.Sqrt((v*v+errors.At(i, i)*errors.At(j, j))/draws) + 1e-12
			if math.Abs(found[i][j]-v) > limit {
				t.Errorf("covariance of rounds %d and %d is %v, want %v", i, j, v, found[i][j])
			}
		}
	}
	if v := a.missing(all); math.Abs(mean-v) > 5*v*math.Sqrt(2.0/draws) {
		t.Errorf("variance of the mean is %v, want %v", v, mean)
	}
	for i := range trace {
		trace[i].Set = []int{3, 4, 5}
	}
	if a := attended(trace); a.errors(all) != nil || a.missing(all) != 0 || a.share(0) != 1 {
		t.Errorf("full attendance of the parties that come is %+v", a)
	}
}

// TestAbsentFromTheCurvature: where ten of twelve parties miss the curvature rounds the weights of all
// records are within four standard deviations, and these are less than 1.8 times those of full attendance: a
// curvature that is taken for a sixth of itself gives a weight more than that.
func TestAbsentFromTheCurvature(t *testing.T) {
	const rounds, parties = 60, 12
	c := curved(rounds, Adam, 0.05)
	data := classes(5, 3000, 4)
	var parts []bayes.Data
	var everybody []int
	for k := range parties {
		from, to := k*250, (k+1)*250
		parts = append(parts, bayes.Data{X: data.X[from*4 : to*4], Y: data.Y[from:to]})
		everybody = append(everybody, k)
	}
	sums := func(curvature []int) []reading.Observation {
		var sets [][]int
		for range rounds {
			sets = append(sets, everybody)
		}
		for range c.CurvatureSlices() {
			sets = append(sets, curvature)
		}
		return attend(t, c, parts, sets, 1)
	}
	posterior := func(trace []reading.Observation) *bayes.Posterior {
		q, err := c.NoiseAware(trace)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	trace, want := sums(everybody[:2]), maximum(t, c, data)
	full, q := posterior(sums(everybody)), posterior(trace)
	for i := range trace {
		trace[i].Set = nil
	}
	mistaken := posterior(trace)
	astray := 0.0
	for i, m := range q.Mean() {
		if z := (m - want[i]) / q.SD()[i]; math.Abs(z) > 4 {
			t.Errorf("weight %d is %.1f sd from that of all records", i, z)
		}
		if wider := q.SD()[i] / full.SD()[i]; wider > 1.8 {
			t.Errorf("weight %d has %.1f times the width of full attendance", i, wider)
		}
		astray = max(astray, mistaken.SD()[i]/full.SD()[i])
	}
	if astray < 1.8 {
		t.Errorf("%.1f times the width at most where sums are taken for those of all", astray)
	}
}
