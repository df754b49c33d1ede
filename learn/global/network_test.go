package global

import (
	"slices"
	"testing"

	"choir/learn/bayes"
)

// TestNetworkLearnsExclusiveOr: a network of eight units, started at spread means, learns
// by gradient sums what no linear model can; started at 0, all its units stay alike.
func TestNetworkLearnsExclusiveOr(t *testing.T) {
	cfg := small()
	cfg.Model = bayes.BNN
	cfg.Features = 3
	cfg.Hidden = 8
	cfg.Samples = 2
	cfg.InitialSpread = 0.7
	cfg.InitialSD = 0.1
	cfg.Clip = 4
	cfg.Records = 400
	cfg.LearningRate = 0.05
	data := classes(8, 400, 3)
	for i := range data.Y {
		if x := data.X[3*i : 3*i+2]; x[0]*x[1] > 0 {
			data.Y[i] = 1
		} else {
			data.Y[i] = 0
		}
	}
	raw, err := run(t.Context(), cfg, []*Learner{learner(t, cfg, data)}, onSeeds(1), nil, 300)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Posterior(raw)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Evaluate(data); err != nil || s.Accuracy < 0.85 {
		t.Errorf("scores %+v, %v; a linear model has about .5", s, err)
	}
	if first := cfg.Initial(); slices.Equal(first[:3], first[3:6]) {
		t.Error("two units start alike")
	}
	cfg.InitialSpread = 0
	if err := cfg.Validate(); err == nil {
		t.Error("units that start alike are let through")
	}
}
