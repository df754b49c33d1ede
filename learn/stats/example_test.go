package stats_test

import (
	"context"
	"fmt"

	"choir/learn/bayes"
	"choir/learn/stats"
)

// Two parties learn a line from one sum of their products. Here the sum is a plain one,
// without noise; in a session it is secret and noised.
func Example() {
	cfg := stats.Config{
		Features: 2, PriorPrecision: 1e-6, NoiseSD: 0.1, Bound: 4, TargetBound: 8, Radius: 2,
		FracBits: 16, Records: 4, MaxRecords: 10,
	}
	parts := []bayes.Data{
		{X: []float64{0, 1, 1, 1}, Y: []float64{1, 3}}, // y = 2 x + 1, the last column is the bias
		{X: []float64{2, 1, 3, 1}, Y: []float64{5, 7}},
	}
	sum := make([]int64, cfg.Dim())
	for _, d := range parts {
		l, err := stats.NewLearner(cfg, d, 0)
		if err != nil {
			panic(err)
		}
		p, err := l.Propose(context.Background(), 1, cfg.Initial())
		if err != nil {
			panic(err)
		}
		for i, x := range p.Update {
			sum[i] += x
		}
	}
	state, err := cfg.Fold(1, cfg.Initial(), sum)
	if err != nil {
		panic(err)
	}
	p, err := cfg.Posterior(state, 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d numbers summed, slope %.2f, intercept %.2f\n", cfg.Dim(), p.Mean[0], p.Mean[1])
	// Output: 6 numbers summed, slope 2.00, intercept 1.00
}
