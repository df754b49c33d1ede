package pvi_test

import (
	"context"
	"fmt"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// Two parties learn the slope and the intercept of a line from two points each.
// The sum between Propose and Fold is a plain one here; in a session it is secret.
func Example() {
	cfg := pvi.Config{
		Model: bayes.Linear, Family: gauss.Full, Strategy: pvi.Dataset{}, Features: 2,
		PriorPrecision: 1, NoiseSD: 0.1, PrecisionFloor: 1, FracBits: 20, DampingBits: 16,
		Damping: 1,
	}
	data := []bayes.Data{
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

// A plan has the parameters of all strategies in one flat form. One that the strategy does
// not have is an error.
func ExampleParams_Strategy() {
	p := pvi.Params{Shards: 20, ShardPower: 1, Steps: 1, LearningRate: 1, Optimiser: pvi.Natural}
	s, err := p.Strategy(pvi.NameVirtual)
	fmt.Printf("%T %v\n", s, err)
	_, err = p.Strategy(pvi.NameDataset)
	fmt.Println(err)
	// Output:
	// pvi.Virtual <nil>
	// bad inference configuration: shards is 20, want 1 with strategy "dataset"
}
