package reading

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// climbingConfig takes two noisy natural-gradient steps a round, with curvature rounds from one on.
func climbingConfig(m bayes.Model, from int) pvi.Config {
	c := logisticConfig()
	if m == bayes.Linear {
		c = linearConfig(gauss.MeanField)
		c.StartPrecision = 4
	}
	c.Beta = 0
	c.Damping = 0.4
	c.DampingDecay = 0
	c.Clip = 0
	c.Strategy = pvi.Optimisation{Optimiser: pvi.Natural, SDUnit: 4, Steps: 2, LearningRate: 0.3}
	c.CurvatureFrom = from
	c.CurvatureBound = 3
	return c
}

// observeClimb runs parties with local noise of this variance, all in every round without a schedule,
// and returns what rounds revealed.
func observeClimb(t *testing.T, c pvi.Config, parts []bayes.Data, rounds int, variance uint64,
	schedule func(round int) []int) []Observation {
	t.Helper()
	var learners []*pvi.Learner
	var states [][]byte
	var all []int
	for i, d := range parts {
		source := rand.NewChaCha8([32]byte{byte(i + 1)})
		l, err := learner(t, c, d, 1/float64(len(parts))).WithNoise(variance, source)
		if err != nil {
			t.Fatal(err)
		}
		learners = append(learners, l)
		states = append(states, l.InitialState())
		all = append(all, i)
	}
	raw, records := c.Initial(), 0
	for _, d := range parts {
		records += d.Rows()
	}
	var trace []Observation
	for round := 1; round <= rounds; round++ {
		sum := make([]int64, c.Dim())
		set := all
		if schedule != nil {
			set = schedule(round)
		}
		for _, i := range set {
			states[i] = add(t, sum, learners[i], round, raw, states[i])
		}
		trace = append(trace, Observation{Round: round, Raw: raw, Sum: sum, Parties: len(set),
			Absent: len(parts) - len(set), Set: set, Variance: float64(variance) * float64(len(set)),
			Records: float64(records)})
		raw = fold(t, c, round, raw, sum)
	}
	return trace
}

// TestClimbReadsTheScore: without noise every round of steps, however far from the end, gives the
// regression's score where the parties were, to within a hundredth of the first, and the curvature
// rounds its curvature.
func TestClimbReadsTheScore(t *testing.T) {
	const rounds = 4
	c := climbingConfig(bayes.Linear, rounds+1)
	data := dense(c, 3, 60)
	trace := observeClimb(t, c, []bayes.Data{data}, rounds+c.CurvatureSlices(), 0, nil)
	r := climbing{reading: reading{c: c, prior: priorOf(c)}}
	for _, o := range trace {
		add := r.add
		if c.CurvatureRound(o.Round) {
			add = r.addCurvature
		}
		if err := add(o); err != nil {
			t.Fatal(err)
		}
	}
	curvature, ok := r.curvature()
	if !ok || len(r.scores) != rounds {
		t.Fatalf("curvature %v, %d scores", ok, len(r.scores))
	}
	weight := 1 / (c.NoiseSD * c.NoiseSD)
	for j := range c.Features {
		want := make([]float64, rounds)
		row := make([]float64, c.Features)
		for n, y := range data.Y {
			x := data.X[n*c.Features : (n+1)*c.Features]
			for i, xi := range x {
				row[i] += weight * xi * x[j]
			}
			for s, point := range r.points {
				left := y
				for i, xi := range x {
					left -= xi * point[i]
				}
				want[s] += weight * left * x[j]
			}
		}
		for s, got := range r.scores {
			if math.Abs(got[j]-want[s]) > 0.01*floats.Norm(r.scores[0], 2)/float64(1+s*s*s) {
				t.Errorf("round %d: score %d is %v, want %v", s+1, j, got[j], want[s])
			}
		}
		for i, want := range row {
			if got := curvature.Matrix.At(i, j); math.Abs(got-want) > 1e-2 {
				t.Errorf("curvature %d, %d is %v, want %v", i, j, got, want)
			}
		}
	}
}

// TestClimbCovers: with noise that swamps the plain posterior the weights of the data stay within the
// intervals: of optimisation with curvature rounds and without, sampled and not, of hybrid and analytic.
func TestClimbCovers(t *testing.T) {
	sampled := climbingConfig(bayes.Logistic, 13)
	steps := sampled.Strategy.(pvi.Optimisation)
	steps.Sampling, steps.SampleRate = pvi.SamplingPoisson, 0.5
	sampled.Strategy = steps
	bare := climbingConfig(bayes.Logistic, 0)
	bare.CurvatureBound = 0
	mixed := climbingConfig(bayes.Linear, 13)
	var err error
	if mixed.Strategy, err = mixed.Strategy.Params().Strategy(pvi.NameHybrid); err != nil {
		t.Fatal(err)
	}
	sums := linearConfig(gauss.Full)
	sums.DampingDecay = 1
	sums.Strategy = pvi.Analytic{}
	for name, c := range map[string]pvi.Config{"sampled": sampled, "bare": bare, "hybrid": mixed,
		"analytic": sums} {
		t.Run(name, func(t *testing.T) {
			if c.Climbs() {
				c.StartPrecision = 60
				c.PrecisionFloor = 30
			}
			parts := []bayes.Data{dense(c, 6, 300), dense(c, 7, 300), dense(c, 8, 300)}
			rounds := 12
			if c.CurvatureFrom > 0 {
				rounds += c.CurvatureSlices()
			}
			scale := 4.0 // of the noise on a release
			switch c.Strategy.Name() {
			case pvi.NameHybrid:
				scale = 6
			case pvi.NameAnalytic:
				scale = 128
			}
			trace := observeClimb(t, c, parts, rounds, uint64(scale*scale*math.Ldexp(1, 2*int(c.FracBits))), nil)
			q, err := NoiseAware(c, trace)
			if err != nil {
				t.Fatal(err)
			}
			last := trace[len(trace)-1]
			plain, err := c.Posterior(last.Raw)
			if err != nil {
				t.Fatal(err)
			}
			truth, far := []float64{1.5, -1, 0, 0.5}, 0.0
			for i, m := range plain.Mean() {
				far = max(far, math.Abs(m-truth[i])/plain.SD()[i])
			}
			if far < 2.5 {
				t.Errorf("the plain mean is %.1f sd from the truth at most: the noise is too small to test", far)
			}
			for i, m := range q.Mean() {
				if z := (m - truth[i]) / q.SD()[i]; math.Abs(z) > 4 || q.SD()[i] > 0.9 {
					t.Errorf("weight %d is %v sd from the truth; sd %v", i, z, q.SD()[i])
				}
			}
		})
	}
}

// TestLateParties: while some of ten parties with the same records are not there, rounds give the
// precision and the score of all, where they are, and curvature rounds the curvature: what is absent is
// made up for, and what its factors have of a start that is longer than the precision is not taken for
// records. An eleventh party never comes, and all that it has is its share of the start. Sums of parties
// that are not told are those of all, so that the check is not idle.
func TestLateParties(t *testing.T) {
	const rounds, late = 6, 4
	c := climbingConfig(bayes.Linear, rounds+1)
	c.StartPrecision = 3000
	var parts []bayes.Data
	for range 11 {
		parts = append(parts, dense(c, 3, 60))
	}
	come := func(round int) []int {
		switch {
		case round <= late:
			return []int{0, 1, 2, 3, 4, 5, 6, 7}
		case round <= rounds:
			return []int{0, 1, 2, 3, 8, 9}
		}
		return []int{2, 4, 9}
	}
	trace := observeClimb(t, c, parts, rounds+c.CurvatureSlices(), 0, come)
	full := mat.NewSymDense(c.Features, nil)
	for n := range parts[0].Y {
		full.SymRankOne(full, 10/(c.NoiseSD*c.NoiseSD),
			mat.NewVecDense(c.Features, parts[0].X[n*c.Features:(n+1)*c.Features]))
	}
	worst := func(trace []Observation) (precision, entry float64) {
		r := climbing{reading: reading{c: c, prior: priorOf(c), attendance: attended(c, trace)}}
		for _, o := range trace {
			add := r.add
			if c.CurvatureRound(o.Round) {
				add = r.addCurvature
			}
			if err := add(o); err != nil {
				t.Fatal(err)
			}
		}
		curvature, ok := r.curvature()
		if !ok || len(r.precision) != rounds {
			t.Fatalf("curvature %v, %d rounds", ok, len(r.precision))
		}
		for i := range c.Features {
			for _, row := range r.precision { // a linear model's are the same everywhere
				precision = max(precision, math.Abs(row[i]/full.At(i, i)-1))
			}
			for j := range c.Features {
				off := math.Abs(curvature.Matrix.At(i, j) - full.At(i, j))
				entry = max(entry, off/math.Sqrt(full.At(i, i)*full.At(j, j)))
			}
		}
		return precision, entry
	}
	if precision, entry := worst(trace); precision > 0.01 || entry > 0.01 {
		t.Errorf("precisions are off by %v, the curvature by %v", precision, entry)
	}
	for i := range trace {
		trace[i].Set = nil
	}
	if precision, entry := worst(trace); precision < 0.1 || entry < 0.1 {
		t.Errorf("sums taken for those of all are off by %v and %v only", precision, entry)
	}
}

// TestClimbCountsAbsentNoise: with one party of four a round, the factors of the others leave their
// noise in what a round reveals, and the variance that is counted is above the one measured.
func TestClimbCountsAbsentNoise(t *testing.T) {
	const rounds, settled = 120, 40
	c := climbingConfig(bayes.Linear, 0)
	c.CurvatureBound = 0
	c.Damping = 1
	c.StartPrecision = 2000
	c.PrecisionFloor = 2000
	var parts []bayes.Data
	want := make([]float64, c.Features)
	for i := range 4 {
		d := dense(c, uint64(20+i), 200)
		for n, x := range d.X {
			want[n%c.Features] += x * x / (c.NoiseSD * c.NoiseSD)
		}
		parts = append(parts, d)
	}
	turns := func(round int) []int { return []int{round % len(parts)} }
	trace := observeClimb(t, c, parts, rounds, uint64(4*math.Ldexp(1, 2*int(c.FracBits))), turns)
	counted, once := 0.0, 0.0 // mean squares of the errors, over their variances
	for _, o := range trace[settled:] {
		r := climbing{reading: reading{c: c, prior: priorOf(c)}}
		if err := r.add(o); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			e := (r.precision[0][i] - w) * (r.precision[0][i] - w) / r.doubt[0][i]
			counted += e / float64(c.Features*(rounds-settled))
			once += e * 4 / float64(c.Features*(rounds-settled))
		}
	}
	if counted > 1 || once < 1.5 {
		t.Errorf("squares of the errors are %.2f of the variance, and %.2f of that without absent parties",
			counted, once)
	}
}
