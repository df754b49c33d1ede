package pvi

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// scoresConfig is linear regression of one record a shard with tied factors and scores.
func scoresConfig(clip float64) Config {
	c := residualConfig(gauss.MeanField, 0)
	c.Beta, c.PrecisionUnit, c.Clip, c.FracBits = 1, 0.25, clip, 24
	return c
}

// TestScoresAreNaturalParameters: without clips and noise, rounds with scores end in the state of rounds with
// natural parameters but for rounding: half a unit of the grid for each of 60 records, four times that of a
// precision, and both times the mean.
func TestScoresAreNaturalParameters(t *testing.T) {
	states := [2][]int64{}
	for k, unit := range []float64{0, 0.25} {
		c := scoresConfig(1e6)
		c.PrecisionUnit = unit
		data := dense(c, 3, 60)
		l := learner(t, c, data, 1)
		raw, state := c.Initial(), l.InitialState()
		for round := 1; round <= 5; round++ {
			p, err := l.Propose(t.Context(), round, raw, state)
			if err != nil {
				t.Fatal(err)
			}
			if raw, err = c.Fold(round, raw, p.Update); err != nil {
				t.Fatal(err)
			}
			if state, err = l.Settle(round, state, p.Memo); err != nil {
				t.Fatal(err)
			}
		}
		states[k] = raw
	}
	c := scoresConfig(1)
	if slices.Equal(states[1], c.Initial()) {
		t.Fatal("nothing was learnt")
	}
	off := 0.0
	for i, x := range c.Reals(states[0]) {
		off = max(off, math.Abs(x-c.Reals(states[1])[i]))
	}
	if limit := math.Ldexp(5*60*20, -24); off > limit {
		t.Errorf("states differ by %g, more than %g", off, limit)
	}
}

// TestClippedScoresAreCentred: at the true weights clipped scores add up to 0 but for chance, five standard
// deviations of which are exceeded with a probability of 3e-6 in three coordinates, and clipped natural
// parameters don't: what they leave of the scores pulls the weights to 0. A fifth of the records and more are
// clipped.
func TestClippedScoresAreCentred(t *testing.T) {
	const n = 4000
	truth := []float64{1, 1, 1}
	for _, unit := range []float64{0, 0.25} {
		c := scoresConfig(2)
		c.PrecisionUnit = unit
		r := rand.New(rand.NewPCG(4, 2))
		var data bayes.Data
		for range n {
			x := []float64{r.NormFloat64(), r.NormFloat64(), 1}
			data.X = append(data.X, x...)
			data.Y = append(data.Y, x[0]+x[1]+x[2]+c.NoiseSD*r.NormFloat64())
		}
		l := learner(t, c, data, 1)
		raw := c.Initial()
		for i, w := range truth {
			raw[i] = int64(math.Round(-2 * w * float64(raw[3+i])))
		}
		p, err := l.Propose(t.Context(), 1, raw, l.InitialState())
		if err != nil {
			t.Fatal(err)
		}
		if p.ClippedFraction < 0.2 {
			t.Fatalf("unit %g: %g of the records are clipped", unit, p.ClippedFraction)
		}
		sum := p.Update
		if unit > 0 {
			if sum, err = c.NaturalSum(1, raw, sum); err != nil {
				t.Fatal(err)
			}
		}
		worst := 0.0
		for i, w := range truth {
			score := math.Ldexp(float64(sum[i])+2*w*float64(sum[3+i]), -int(c.FracBits))
			worst = max(worst, math.Abs(score)/(math.Sqrt(n)/c.NoiseSD)) // a score's deviation is x/NoiseSD at most
		}
		if centred := worst < 5; centred != (unit > 0) {
			t.Errorf("unit %g: scores of up to %.1f standard deviations", unit, worst)
		}
	}
}

// TestScoresAreWithinTheClip: for any record and round its term is within the clip.
func TestScoresAreWithinTheClip(t *testing.T) {
	c := scoresConfig(6)
	c.CurvatureFrom, c.CurvatureBound, c.ClipHalvings = 7, 1, 2
	bound, err := c.clipUnits()
	if err != nil {
		t.Fatal(err)
	}
	before := 0.0
	for _, round := range []int{1, 2, 3, 4, 5, 6} {
		for _, y := range []float64{0, 3, -1e9, math.MaxFloat64} {
			l := learner(t, c, bayes.Data{X: []float64{2, -3, 1}, Y: []float64{y}}, 1)
			p, err := l.Propose(t.Context(), round, c.Initial(), l.InitialState())
			if err != nil {
				t.Fatal(err)
			}
			square := 0.0
			for _, x := range p.Update {
				square += float64(x) * float64(x)
			}
			if norm := math.Sqrt(square); norm > float64(bound) {
				t.Errorf("round %d, target %g: norm %g, the clip is %d", round, y, norm, bound)
			}
		}
		if times := c.TermScale(round); times < before || round == 1 && times != 1 || round == 6 && times != 4 {
			t.Errorf("round %d: terms are times %g after %g", round, times, before)
		} else {
			before = times
		}
	}
}

// TestScoresAreRefused: settings with which a factor has a memory, or halvings have no rounds.
func TestScoresAreRefused(t *testing.T) {
	if err := scoresConfig(6).Validate(); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*Config){
		"precision_unit is 0.25": func(c *Config) { c.Beta = 0.5 },
		"precision_unit is 2":    func(c *Config) { c.PrecisionUnit = 2 },
		"clip_halvings is 1":     func(c *Config) { c.ClipHalvings = 1 },
	} {
		c := scoresConfig(6)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v, want an error with %q", err, field)
		}
	}
}
