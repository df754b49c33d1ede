package pvi

import (
	"context"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// adultShaped is a party's data of Adult's size and texture: 6 standardised columns,
// 102 of eight one-hot groups, a bias.
func adultShaped(seed uint64, rows int) bayes.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	groups := []int{9, 16, 7, 15, 6, 5, 2, 42}
	d := bayes.Data{X: make([]float64, rows*109), Y: make([]float64, rows)}
	for i := range d.Y {
		row, at := d.X[i*109:(i+1)*109], 6
		for j := range 6 {
			row[j] = r.NormFloat64()
		}
		for _, n := range groups {
			row[at+r.IntN(n)] = 1
			at += n
		}
		row[108] = 1
		if row[0]+r.NormFloat64() > 1 {
			d.Y[i] = 1
		}
	}
	return d
}

func adultConfig() Config {
	return Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: Virtual{Shards: 200, Fit: Fit{Steps: 5, LearningRate: 0.05}}, Features: 109,
		PriorPrecision: 1, Clip: 0.05, FracBits: 25, DampingBits: 16, Damping: 0.1,
		DampingDecay: 0.1, Beta: 0.75, PrecisionFloor: 1,
	}
}

// BenchmarkVirtualRound is one round at one of ten parties that share half of Adult
// (2442 rows each) over 200 shards each: a tenth of a round.
func BenchmarkVirtualRound(b *testing.B) {
	c := adultConfig()
	l, err := NewLearner(c, adultShaped(1, 2442), 0.1)
	if err != nil {
		b.Fatal(err)
	}
	raw, state := c.Initial(), l.InitialState()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Propose(context.Background(), 1, raw, state); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOptimisationRound is one round of DP optimisation at the same party: 5
// steps over Poisson samples of a tenth.
func BenchmarkOptimisationRound(b *testing.B) {
	c := adultConfig()
	c.Beta, c.Clip = 0, 2
	c.FracBits = 19
	c = as(c, NameOptimisation, func(p *Params) {
		p.Local = true
		p.Sampling = SamplingPoisson
		p.SampleRate = 0.1
	})
	l, err := NewLearner(c, adultShaped(1, 2442), 0.1)
	if err == nil {
		l, err = l.WithNoise(1<<46, chacha(1))
	}
	if err != nil {
		b.Fatal(err)
	}
	raw, state := c.Initial(), l.InitialState()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Propose(context.Background(), 1, raw, state); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNaturalRound is a virtual client for every record, as experiment paper4-adult
// has it, with what the party keeps of it: again a tenth of a round.
func BenchmarkNaturalRound(b *testing.B) {
	c := adultConfig()
	c.Strategy = Virtual{Shards: 24420, ShardPower: 1, Fit: Fit{Optimiser: Natural, Steps: 1,
		LearningRate: 1}}
	c.Beta = 0
	c.Clip = 0.75
	c.FracBits = 21
	c.PrecisionFloor, c.StartPrecision = 100, 150
	l, err := NewLearner(c, adultShaped(1, 2442), 0.1)
	if err != nil {
		b.Fatal(err)
	}
	raw, state := c.Initial(), l.InitialState()
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.Propose(context.Background(), 1, raw, state)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Settle(1, state, p.Memo); err != nil {
			b.Fatal(err)
		}
	}
}
