package calibration

import (
	"context"
	"strings"

	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/dataset"
)

// rangeWorlds are worlds of skewed columns of which nothing but ranges is public: of wide ranges half are up
// to 10 times as wide as the others.
func rangeWorlds(quick bool) []world {
	all := []world{
		{"6 columns", false, 1000, 6, 0.3, 4, 2, 0, 0, false},
		{"12 columns", false, 3000, 12, 0.5, 6, 1, 0, 0, false},
		{"20 columns", false, 20000, 20, 0.2, 10, 0.5, 0, 0, false},
		{"30 columns", false, 6000, 30, 0.3, 20, 3, 0, 0, false},
		{"strict", false, 2000, 8, 0, 3, 0.5, 0, 0, false},
		{"many records", false, 40000, 8, 0.6, 30, 1, 0, 0, false},
		{"40 columns", false, 12000, 40, 0.4, 5, 4, 0, 0, false},
		{"few records", false, 800, 5, 0.2, 10, 6, 0, 0, false},
		{"wide ranges", false, 5000, 8, 0.3, 6, 1, 0, 0, false},
		{"wide ranges of many columns", false, 20000, 20, 0.3, 10, 1, 0, 0, false},
		{"wide ranges of few records", false, 3000, 6, 0.2, 4, 3, 0, 0, false},
	}
	if quick {
		return all[:1]
	}
	return all
}

// ranged is the study of range worlds.
func ranged(ctx context.Context, o study.Options) (*study.Result, error) {
	return each(ctx, o, "calibration-ranges", rangeWorlds(o.Quick), func(at int) int { return 40_000 + 100*at },
		loadRanges)
}

// loadRanges draws a logistic world's data.
func loadRanges(w world, seed uint64) (*experiment.Data, []float64, error) {
	wider := 1.0
	if strings.HasPrefix(w.Name, "wide") {
		wider = 10
	}
	made, err := dataset.RangedGenerator{Rows: w.Rows * 5 / 4, Features: w.Columns, Correlation: w.Correlation,
		Wider: wider, Seed: seed}.Generate()
	if err != nil {
		return nil, nil, err
	}
	d, err := experiment.Source{Records: made.Records, Schema: made.Schema, Seed: seed, Parties: w.Parties,
		Train: 0.8}.Load()
	return d, made.Weights, err
}
