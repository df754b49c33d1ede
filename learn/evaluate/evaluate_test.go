package evaluate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/learn/bayes"
	"choir/learn/evaluate"
	"choir/learn/gauss"
)

func config() *evaluate.Config {
	return &evaluate.Config{Every: 3, HeldOut: 0.25, Bins: 4, Low: -3, Records: 1000, Seed: 1}
}

func posterior(t rapid.TB, model bayes.Model, mean ...float64) *bayes.Posterior {
	t.Helper()
	natural := slices.Clone(mean)
	for i := range natural {
		natural[i] *= 100
	}
	for range mean {
		natural = append(natural, -50)
	}
	like := bayes.Likelihood{Model: model, Family: gauss.MeanField, Features: len(mean)}
	if model == bayes.Linear {
		like.NoiseSD = 0.5
	}
	q, err := like.Posterior(natural)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestRounds: every plan of two rounds or more ends with an evaluation, learns between any two,
// and counts both kinds rightly.
func TestRounds(t *testing.T) {
	for every := 1; every < 9; every++ {
		c := &evaluate.Config{Every: every}
		for rounds := 2; rounds < 60; rounds++ {
			before := 0
			learning := 0
			run := 0
			for r := 1; r <= rounds; r++ {
				if got := c.Before(r, rounds); got != before {
					t.Fatalf("every %d: %d evaluations before round %d of %d, want %d", every, got, r, rounds, before)
				}
				run++
				if c.At(r, rounds) {
					before++
					if run < 2 {
						t.Fatalf("every %d: rounds %d and %d of %d evaluate", every, r-1, r, rounds)
					}
					run = 0
					continue
				}
				learning++
			}
			if !c.At(rounds, rounds) || c.Learning(rounds) != learning {
				t.Fatalf("every %d: %d of %d rounds learn, want %d", every, c.Learning(rounds), rounds, learning)
			}
			if all := c.Total(learning); c.Learning(all) != learning {
				t.Fatalf("every %d: %d rounds in all for %d that learn", every, all, learning)
			}
		}
	}
	if c := (*evaluate.Config)(nil); c.At(5, 5) || c.Learning(5) != 5 || c.Total(5) != 5 || c.Before(5, 5) != 0 {
		t.Error("a plan without evaluation has evaluations")
	}
}

// TestSplit: the share is held, positions alone decide, and appended records move no other.
func TestSplit(t *testing.T) {
	c := config()
	d := bayes.Data{}
	for i := range 4000 {
		d.X = append(d.X, float64(i), 1)
		d.Y = append(d.Y, float64(i%2))
	}
	train, held := c.Split(d)
	// Six standard deviations of a binomial.
	if n := held.Rows(); math.Abs(float64(n)-1000) > 165 || train.Rows()+n != 4000 {
		t.Errorf("%d of 4000 held out, want 1000", n)
	}
	_, first := c.Split(bayes.Data{X: d.X[:4000], Y: d.Y[:2000]})
	if !slices.Equal(first.X, held.X[:len(first.X)]) {
		t.Error("records that were added moved others")
	}
	other := *c
	other.Seed++
	if _, again := other.Split(d); slices.Equal(again.X, held.X) {
		t.Error("another seed holds the same records out")
	}
	if train, held = c.Split(bayes.Data{}); train.Rows()+held.Rows() != 0 {
		t.Error("records from nothing")
	}
	for n := 1; n < 20; n++ {
		if train, _ := c.Split(bayes.Data{X: d.X[:2*n], Y: d.Y[:n]}); train.Rows() == 0 {
			t.Errorf("none of %d records is left to learn from", n)
		}
	}
}

// TestSensitivity: a record that replaces another moves the sum by no more than the sensitivity,
// and a party's sum is within its reach, in integers.
func TestSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.Bins = rapid.IntRange(1, 6).Draw(t, "bins")
		c.Records = rapid.IntRange(1, 5).Draw(t, "records")
		model := rapid.SampledFrom([]bayes.Model{bayes.Logistic, bayes.Linear}).Draw(t, "model")
		q := posterior(t, model, rapid.Float64Range(-20, 20).Draw(t, "w"), rapid.Float64Range(-9, 9).Draw(t, "b"))
		target := evaluate.Target{Binary: model == bayes.Logistic, Half: 2}
		sensitivity := rapid.Uint64Range(4, 1<<40).Draw(t, "sensitivity")
		u := config().Unit(sensitivity)
		draw := func(d *bayes.Data) {
			d.X = append(d.X, rapid.Float64Range(-3, 3).Draw(t, "x"), 1)
			d.Y = append(d.Y, float64(rapid.IntRange(0, 1).Draw(t, "y")))
		}
		var d bayes.Data
		for range rapid.IntRange(1, 7).Draw(t, "rows") {
			draw(&d)
		}
		var other bayes.Data
		draw(&other)
		at := rapid.IntRange(0, d.Rows()-1).Draw(t, "at")
		changed := bayes.Data{X: slices.Clone(d.X), Y: slices.Clone(d.Y)}
		copy(changed.X[2*at:], other.X)
		changed.Y[at] = other.Y[0]
		sums := [2][]int64{make([]int64, c.Dim()), make([]int64, c.Dim())}
		for i, data := range []bayes.Data{d, changed} {
			if err := c.Sum(sums[i], q, data, target, u); err != nil {
				t.Fatal(err)
			}
		}
		distance := 0.0
		norm := 0.0
		for j := range sums[0] {
			distance = math.Hypot(distance, float64(sums[0][j]-sums[1][j]))
			norm = math.Hypot(norm, float64(sums[0][j]))
		}
		if distance > float64(sensitivity)*(1+1e-12) {
			t.Errorf("a record moves the sum by %v, more than %d", distance, sensitivity)
		}
		if norm > float64(c.Reach(u))*(1+1e-12) {
			t.Errorf("a party's sum has norm %v, more than %d", norm, c.Reach(u))
		}
	})
}

// TestSensitivityOfParty: where every party counts once, any data of a party that replaces any other moves
// the sum by no more than the sensitivity, none at all included, and a sum is within its reach, in integers.
func TestSensitivityOfParty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.PerParty = true
		c.Bins = rapid.IntRange(1, 6).Draw(t, "bins")
		c.Records = rapid.IntRange(1, 5).Draw(t, "records")
		model := rapid.SampledFrom([]bayes.Model{bayes.Logistic, bayes.Linear}).Draw(t, "model")
		q := posterior(t, model, rapid.Float64Range(-20, 20).Draw(t, "w"), rapid.Float64Range(-9, 9).Draw(t, "b"))
		target := evaluate.Target{Binary: model == bayes.Logistic, Half: 2}
		sensitivity := rapid.OneOf(rapid.Uint64Range(0, 60), rapid.Uint64Range(4, 1<<62)).Draw(t, "sensitivity")
		u := c.Unit(sensitivity)
		if u == 0 {
			return // refused
		}
		sums := [2][]int64{make([]int64, c.Dim()), make([]int64, c.Dim())}
		for i := range sums {
			var d bayes.Data
			for range rapid.IntRange(0, 7).Draw(t, "rows") {
				d.X = append(d.X, rapid.Float64Range(-3, 3).Draw(t, "x"), 1)
				d.Y = append(d.Y, float64(rapid.IntRange(0, 1).Draw(t, "y")))
			}
			if err := c.Sum(sums[i], q, d, target, u); err != nil {
				t.Fatal(err)
			}
		}
		distance, norm := 0.0, 0.0
		for j := range sums[0] {
			distance = math.Hypot(distance, float64(sums[0][j]-sums[1][j]))
			norm = math.Hypot(norm, float64(sums[0][j]))
		}
		if distance > float64(sensitivity)*(1+1e-12) || c.Whole(sensitivity) != sensitivity {
			t.Errorf("a party moves the sum by %v, more than %d", distance, sensitivity)
		}
		if norm > float64(c.Reach(u))*(1+1e-12) {
			t.Errorf("a party's sum has norm %v, more than %d", norm, c.Reach(u))
		}
	})
}

// TestMeansOfParties: where every party counts once, scores are the mean of the parties' own, however
// many records one has, and intervals hold that of all parties about as often as they say.
func TestMeansOfParties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := config()
	c.PerParty = true
	const u, parties, runs, noise = 1 << 30, 150, 200, 6
	q, target := posterior(t, bayes.Logistic, 2, 0.3), evaluate.Target{Binary: true}
	// A party's records follow the model the better, the fewer it has.
	draw := func() (bayes.Data, float64) {
		var d bayes.Data
		n := 1 + rng.IntN(30)
		for range n {
			x, y := rng.NormFloat64(), 0.0
			if rng.Float64() < 1/(1+math.Exp(-40*x/float64(n))) {
				y = 1
			}
			d.X, d.Y = append(d.X, x, 1), append(d.Y, y)
		}
		e, err := q.Evaluate(d)
		if err != nil {
			t.Fatal(err)
		}
		return d, e.Accuracy
	}
	truth := 0.0
	for range 20_000 {
		_, accuracy := draw()
		truth += accuracy / 20_000
	}
	hits := 0
	for range runs {
		sum, mean := make([]int64, c.Dim()), 0.0
		for range parties {
			d, accuracy := draw()
			mean += accuracy / parties
			if err := c.Sum(sum, q, d, target, u); err != nil {
				t.Fatal(err)
			}
		}
		exact, err := c.Estimate(sum, 0, target, u)
		if err != nil {
			t.Fatal(err)
		}
		// Rounding is by half of a grid unit a party.
		if math.Abs(exact.Accuracy.Value-mean) > 1e-8 || math.Abs(exact.Records.Value-parties) > 1e-6 ||
			!exact.PerParty {
			t.Fatalf("%+v, want an accuracy of %v over %d parties", exact, mean, parties)
		}
		for j := range sum {
			sum[j] += int64(rng.NormFloat64() * noise * 2 * u)
		}
		p, err := c.Estimate(sum, 4*noise*noise*u*u, target, u)
		if err != nil {
			t.Fatal(err)
		}
		if p.Accuracy.Low <= truth && truth <= p.Accuracy.High {
			hits++
		}
	}
	// 95 % less six standard deviations of 200 draws; intervals of means are rather too wide.
	if float64(hits)/runs < 0.857 {
		t.Errorf("%d of %d intervals hold the mean over all parties", hits, runs)
	}
}

// TestSensitivityIsReached: the worst pair of records uses the sensitivity, so that no noise is
// wasted: right against wrong at both ends of the log-likelihood, in one bin.
func TestSensitivityIsReached(t *testing.T) {
	c := config()
	c.Bins = 1
	q := posterior(t, bayes.Logistic, 40)
	u := config().Unit(1 << 30)
	sums := [2][]int64{make([]int64, c.Dim()), make([]int64, c.Dim())}
	for i, x := range []float64{3, -3} {
		if err := c.Sum(sums[i], q, bayes.Data{X: []float64{x}, Y: []float64{1}}, evaluate.Target{Binary: true},
			u); err != nil {
			t.Fatal(err)
		}
	}
	distance := 0.0
	for j := range sums[0] {
		distance = math.Hypot(distance, float64(sums[0][j]-sums[1][j]))
	}
	if distance < 0.85*(1<<30) {
		t.Errorf("the distance is %v of %v", distance, 1<<30)
	}
}

// TestUnit: it is the largest with 12 u^2 <= S^2, up to a billionth.
func TestUnit(t *testing.T) {
	for _, s := range []uint64{0, 1, 3, 4, 7, 100, 1 << 20, 1<<40 + 1, 1 << 62} {
		u := float64(config().Unit(s))
		if want := float64(s) / math.Sqrt(12); u > want || u < want*(1-1e-9)-1 {
			t.Errorf("sensitivity %d: unit %v, want %v", s, u, want)
		}
	}
}

// TestEstimate: over many draws of records and noise, intervals hold what is true of the
// population about as often as they say, and are no wider than noise and sampling make them.
func TestEstimate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := config()
	c.Bins = 2
	q := posterior(t, bayes.Logistic, 2, 0.3)
	const u = 1 << 20
	draw := func(n int) bayes.Data {
		var d bayes.Data
		for range n {
			x := rng.NormFloat64()
			y := 0.0
			if rng.Float64() < 1/(1+math.Exp(-1.2*x)) {
				y = 1
			}
			d.X = append(d.X, x, 1)
			d.Y = append(d.Y, y)
		}
		return d
	}
	target := evaluate.Target{Binary: true}
	large := *c
	large.Records = 1 << 14
	exact := make([]int64, c.Dim())
	if err := large.Sum(exact, q, draw(1<<14), target, u); err != nil {
		t.Fatal(err)
	}
	truth, err := c.Estimate(exact, 0, target, u)
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range []float64{0, 5, 20} { // records
		const runs = 150
		hits := make([]int, 2+c.Bins)
		width := 0.0
		for range runs {
			sum := make([]int64, c.Dim())
			if err := c.Sum(sum, q, draw(200), target, u); err != nil {
				t.Fatal(err)
			}
			for j := range sum {
				sum[j] += int64(rng.NormFloat64() * noise * 2 * u)
			}
			p, err := c.Estimate(sum, 4*noise*noise*u*u, target, u)
			if err != nil {
				t.Fatal(err)
			}
			pairs := [][2]evaluate.Interval{{*p.Accuracy, *truth.Accuracy}, {p.LogLikelihood, truth.LogLikelihood}}
			for b := range p.Calibration {
				pairs = append(pairs, [2]evaluate.Interval{*p.Calibration[b].Gap, *truth.Calibration[b].Gap})
			}
			for k, v := range pairs {
				if v[0].Low <= v[1].Value && v[1].Value <= v[0].High {
					hits[k]++
				}
			}
			width += (p.Accuracy.High - p.Accuracy.Low) / runs
		}
		// 95 % less six standard deviations of 150 draws; the seed is fixed.
		for k, n := range hits {
			if float64(n)/runs < 0.84 {
				t.Errorf("noise of %v records: interval %d holds the truth in %d of %d runs", noise, k, n, runs)
			}
		}
		want := 2 * 1.96 * math.Sqrt(0.7*0.3/200+noise*noise*(1+0.04)/(200*200))
		if width > 1.25*want || width < 0.75*want {
			t.Errorf("noise of %v records: the accuracy's interval is %.3f wide, want about %.3f", noise, width, want)
		}
	}
}

// TestSwamped: where the noise outweighs the records, intervals are all that is possible.
func TestSwamped(t *testing.T) {
	c := config()
	p, err := c.Estimate(make([]int64, c.Dim()), 1e6, evaluate.Target{Binary: true}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if p.Accuracy.Low != 0 || p.Accuracy.High != 1 || p.LogLikelihood.Low != -3 || p.LogLikelihood.High != 0 ||
		p.Calibration[0].Gap.Low != -1 || p.Calibration[0].Gap.High != 1 {
		t.Errorf("an estimate from nothing: %+v", p)
	}
}

// TestNumbers: a linear model's error and density are those of its own evaluation.
func TestNumbers(t *testing.T) {
	c := config()
	c.Low, c.High = -20, 5
	q := posterior(t, bayes.Linear, 1, 0)
	var d bayes.Data
	rng := rand.New(rand.NewPCG(3, 4))
	for range 900 {
		x := rng.Float64()
		d.X = append(d.X, x, 1)
		d.Y = append(d.Y, x+0.5*rng.NormFloat64())
	}
	sum := make([]int64, c.Dim())
	target := evaluate.Target{Half: 10}
	if err := c.Sum(sum, q, d, target, 1<<30); err != nil {
		t.Fatal(err)
	}
	p, err := c.Estimate(sum, 0, target, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	want, err := q.Evaluate(d)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.RMSE.Value-want.RMSE) > 1e-6 || math.Abs(p.LogLikelihood.Value-want.LogLikelihood) > 1e-6 ||
		math.Round(p.Records.Value) != 900 || p.Accuracy != nil {
		t.Errorf("%+v, want %+v", p, want)
	}
	for _, b := range p.Calibration {
		if n := b.Records.Value; math.Abs(n-225) > 80 {
			t.Errorf("%v of 900 records in a quarter", n)
		}
	}
	if in := p.In(10); math.Abs(in.RMSE.Value-10*p.RMSE.Value) > 1e-12 ||
		math.Abs(in.LogLikelihood.Value-p.LogLikelihood.Value+math.Log(10)) > 1e-12 {
		t.Errorf("in another unit: %+v", in)
	}
}

// TestValidate: each setting that is out of range is named.
func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*evaluate.Config){
		"every":    func(c *evaluate.Config) { c.Every = 0 },
		"held_out": func(c *evaluate.Config) { c.HeldOut = 1 },
		"bins":     func(c *evaluate.Config) { c.Bins = 101 },
		"low":      func(c *evaluate.Config) { c.Low = c.High },
		"records":  func(c *evaluate.Config) { c.Records = 1<<16 + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := config()
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			spoil(c)
			if err := c.Validate(); err == nil {
				t.Error("accepted")
			}
		})
	}
}
