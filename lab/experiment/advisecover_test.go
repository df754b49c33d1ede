//go:build nightly

package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"choir/learn/bayes"
	"choir/learn/pvi"
)

// covered is a world unlike the advisor's twins, and a consortium in it.
type covered struct {
	draw    func(r *rand.Rand, j int) float64
	common  float64 // correlation of all columns
	logit   func(x []float64) float64
	columns int
	records []int
	epsilon float64
}

// rows returns n rows.
func (c covered) rows(n int, seed uint64) (d bayes.Data) {
	r := rand.New(rand.NewPCG(seed, 4711))
	for range n {
		x, all := make([]float64, c.columns), r.NormFloat64()
		for j := range x {
			v := math.Sqrt(1-c.common)*c.draw(r, j) + math.Sqrt(c.common)*all
			x[j] = max(-3, min(3, v))
		}
		d.X = append(append(d.X, x...), 1)
		y := 0.0
		if r.Float64() < 1/(1+math.Exp(-c.logit(x))) {
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	return d
}

// linear is a log-odds without interactions.
func linear(intercept float64, w ...float64) func([]float64) float64 {
	return func(x []float64) float64 {
		z := intercept
		for i, v := range w {
			z += v * x[i]
		}
		return z
	}
}

func coveredWorlds() map[string]covered {
	normal := func(r *rand.Rand, _ int) float64 { return r.NormFloat64() }
	coin := func(p float64) func(*rand.Rand, int) float64 {
		return func(r *rand.Rand, _ int) float64 {
			v := 0.0
			if r.Float64() < p {
				v = 1
			}
			return (v - p) / math.Sqrt(p*(1-p))
		}
	}
	uniform := func(r *rand.Rand, _ int) float64 { return 3.4*r.Float64() - 1.7 }
	skewed := func(r *rand.Rand, _ int) float64 { return math.Exp(0.7*r.NormFloat64()) - 1.28 }
	modes := func(r *rand.Rand, _ int) float64 { return float64(2*r.IntN(2)-1) + 0.3*r.NormFloat64() }
	heavy := func(r *rand.Rand, _ int) float64 { return 0.8 * r.NormFloat64() / math.Sqrt(r.ExpFloat64()+0.3) }
	mixed := func(r *rand.Rand, j int) float64 {
		return []func(*rand.Rand, int) float64{normal, coin(0.2), skewed}[j%3](r, j)
	}
	return map[string]covered{
		"uniform":     {uniform, 0, linear(1, 1.8, -1.2, 0, 0.6), 6, []int{220, 180, 310, 140}, 3},
		"two modes":   {modes, 0, linear(-0.8, 1.2, 1.2, -0.7, 0, 0.4), 8, []int{420, 260}, 1},
		"mixed":       {mixed, 0, linear(0.3, 1, 1.4, -1, 0.5, 0.9, -0.6), 9, []int{150, 150, 150, 150, 150}, 6},
		"correlated":  {skewed, 0.6, linear(0.4, 0.8, -1.6, 1), 4, []int{330, 330, 330}, 2},
		"rare":        {coin(0.06), 0, linear(-1, 1.1, 0.9, -0.8, 0.7), 6, []int{600, 300, 200}, 4},
		"steep":       {heavy, 0, linear(0, 4, -3), 6, []int{240, 260, 280}, 1.5},
		"unbalanced":  {normal, 0, linear(-2.2, 1, 0.7, -0.5), 6, []int{400, 300, 500}, 2},
		"many":        {normal, 0, linear(0, 0.9, -0.8, 0.7, -0.6, 0.5, -0.4, 0.3), 12, []int{270, 330, 290}, 8},
		"half coins":  {coin(0.5), 0.2, linear(0.6, 1.3, 0.2, -1.4, 0.9), 7, []int{180, 240, 410}, 2.5},
		"one counts":  {modes, 0.3, linear(-0.2, 2.4), 5, []int{500, 350}, 1.5},
		"skewed many": {skewed, 0.1, linear(0.9, 1, -1, 1, -1, 0.5), 10, []int{260, 260, 260, 260}, 4},
		"weak":        {heavy, 0.4, linear(0.8, 0.7, 0.5), 4, []int{800, 150}, 3},
		"quadratic": {normal, 0, func(x []float64) float64 { return 1.6*x[0] - x[1] + 0.7*(x[2]*x[2]-1) }, 5,
			[]int{350, 450}, 3},
		"interaction": {uniform, 0, func(x []float64) float64 { return 1.2*x[0] + 1.2*x[1] + 0.9*x[0]*x[2] - 0.4 },
			6, []int{160, 500, 240}, 5},
		"threshold": {uniform, 0.3, func(x []float64) float64 { return 2.5*math.Copysign(1, x[0]) - x[1] }, 6,
			[]int{210, 330, 170}, 2},
		"saturated": {mixed, 0, func(x []float64) float64 { return 3 * math.Tanh(x[0]+x[1]-x[2]) }, 7,
			[]int{300, 300, 120, 90}, 3.5},
	}
}

// trial is a plan that the advisor chose for a schema, and what it expects of it.
type trial struct {
	ad          *Advisor
	best, plain Advised                 // the best setting, and that of a plan without any
	data        func(seed uint64) *Data // of a session
}

// TestAdviceCovers: told the accuracy of a regression without privacy, the advisor's interval at 90 %
// has at least 80 % of the sessions of worlds unlike its twins. The allowance of the log-likelihood was
// chosen on ten of them: TestAdviceHeldOut counts on other data.
func TestAdviceCovers(t *testing.T) {
	accurate, likely, all := 0, 0, 0
	for name, c := range coveredWorlds() {
		a, l, n := c.trial(t).count(t, name)
		accurate, likely, all = accurate+a, likely+l, all+n
	}
	t.Logf("of %d sessions %d and %d", all, accurate, likely)
	if 10*accurate < 8*all || 10*likely < 8*all {
		t.Error("the intervals don't cover")
	}
}

// count returns in how many of n sessions the intervals have the accuracy and the log-likelihood.
func (tr trial) count(t *testing.T, name string) (accurate, likely, n int) {
	t.Helper()
	const sessions = 5
	spec, p, err := tr.ad.plan(tr.best.config, tr.ad.Records, tr.ad.Epsilon)
	if err != nil {
		t.Fatal(err)
	}
	want, mean := tr.best.Scores[0], Scores{}
	for seed := range uint64(sessions) {
		got, err := tr.ad.learn(t.Context(), spec, p, tr.data(seed), sessionStreams+int(seed))
		if err != nil {
			t.Fatal(err)
		}
		mean.Accuracy += got.Accuracy / sessions
		mean.LogLikelihood += got.LogLikelihood / sessions
		if math.Abs(got.Accuracy-want.Accuracy) <= want.AccuracyMargin {
			accurate++
		}
		if math.Abs(got.LogLikelihood-want.LogLik) <= want.LogLikMargin {
			likely++
		}
	}
	t.Logf("%-12s %s: accuracy %.3f±%.3f has %d of %d, mean %.3f", name, tr.best.Name, want.Accuracy,
		want.AccuracyMargin, accurate, sessions, mean.Accuracy)
	t.Logf("%-12s log-likelihood %.3f±%.3f has %d, mean %.3f", name, want.LogLik, want.LogLikMargin, likely,
		mean.LogLikelihood)
	return accurate, likely, sessions
}

// trial takes advice on a world.
func (c covered) trial(t *testing.T) trial {
	t.Helper()
	text := "[target]\ny = [\"no\", \"yes\"]\n[columns]\n"
	for j := range c.columns {
		text += fmt.Sprintf("c%d = { lo = -3, hi = 3, center = 0, scale = 1 }\n", j)
	}
	ad := advisor(t, text)
	ad.Records, ad.Epsilon = c.records, c.epsilon
	best, plain := ad.choose(t, c.rows(4000, 1), c.rows(8000, 3))
	return trial{ad, best, plain, func(seed uint64) *Data {
		d := &Data{Schema: ad.Schema, Columns: ad.Schema.EncodedColumns(), Test: c.rows(4000, 1000*seed+99)}
		for i, n := range c.records {
			d.Parts = append(d.Parts, c.rows(n, 1000*seed+uint64(i)+20))
		}
		return d
	}}
}

// choose returns the best setting for what a regression without privacy on train reaches on test, and the
// first, which is a plan's without any.
func (ad *Advisor) choose(t *testing.T, train, test bayes.Data) (best, plain Advised) {
	t.Helper()
	ad.Worlds, ad.now = 2, time.Now()
	like := pvi.Config{Model: bayes.Logistic, Features: ad.Schema.Dim(), PriorPrecision: 1}
	q, err := settled(t.Context(), like, train)
	if err != nil {
		t.Fatal(err)
	}
	known := &Data{Schema: ad.Schema, Columns: ad.Schema.EncodedColumns(), Test: test}
	s, err := known.evaluate(q, false)
	if err != nil {
		t.Fatal(err)
	}
	a := &Advice{Signals: []float64{signalFor(max(0.68, s.Accuracy))}}
	best.Mean = math.Inf(-1)
	for i, set := range ad.settings() {
		if err := ad.judge(t.Context(), a, &set); err != nil {
			t.Fatal(err)
		}
		if set.Refused == "" && set.Mean > best.Mean {
			best = set
		}
		if i == 0 {
			plain = set
		}
	}
	return best, plain
}
