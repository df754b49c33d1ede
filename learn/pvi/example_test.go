package pvi_test

import (
	"context"
	"fmt"

	"choir/learn/gauss"
	"choir/learn/pvi"
)

// Two parties learn the slope and the intercept of a line from two points each.
// What stands between Propose and Fold here is a plain sum; in a session it is a
// secret one.
func Example() {
	cfg := pvi.Config{
		Model: pvi.Linear, Family: gauss.Full, Strategy: pvi.Dataset{}, Features: 2,
		PriorPrecision: 1, NoiseSD: 0.1, PrecisionFloor: 1, FracBits: 20, DampingBits: 16,
		Damping: 1,
	}
	data := []pvi.Data{
		{X: []float64{0, 1, 1, 1}, Y: []float64{1, 3}},
		{X: []float64{2, 1, 3, 1}, Y: []float64{5, 7}},
	}
	ctx := context.Background()
	raw := cfg.Initial()
	sum := make([]int64, cfg.Dim())
	for i, d := range data {
		party, err := pvi.NewLearner(cfg, d, 0.5)
		if err != nil {
			panic(err)
		}
		p, err := party.Propose(ctx, 1, raw, party.InitialState())
		if err != nil {
			panic(err)
		}
		for j, u := range p.Update {
			sum[j] += u
		}
		if _, err := party.Settle(1, party.InitialState(), p.Memo); err != nil {
			panic(err)
		}
		fmt.Println("party", i, "sends", len(p.Update), "integers")
	}
	raw, err := cfg.Fold(1, raw, sum)
	if err != nil {
		panic(err)
	}
	post, err := cfg.Posterior(raw)
	if err != nil {
		panic(err)
	}
	fmt.Printf("slope %.2f, intercept %.2f\n", post.Mean()[0], post.Mean()[1])
	// Output:
	// party 0 sends 5 integers
	// party 1 sends 5 integers
	// slope 2.00, intercept 1.00
}
