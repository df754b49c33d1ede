package calibration

import (
	"context"
	"fmt"

	"choir/lab/experiment"
	"choir/lab/study"
	"choir/learn/dataset"
)

// categoryWorld is a world of ranges alone with categories, and cells that are missing.
type categoryWorld struct {
	world
	categories int
	missing    float64
}

func categoryWorlds(quick bool) []categoryWorld {
	all := []categoryWorld{
		{world{"categories", false, 6000, 4, 0.2, 8, 1, 0, 0, false}, 3, 0},
		{world{"many categories", false, 20000, 6, 0.3, 20, 2, 0, 0, false}, 8, 0},
		{world{"few records", false, 1500, 3, 0.1, 4, 3, 0, 0, false}, 2, 0},
		{world{"missing cells", false, 12000, 6, 0, 10, 2, 0, 0, false}, 2, 0.08},
		{world{"numbers", true, 6000, 4, 0.2, 8, 1, 0, 0, false}, 3, 0},
		{world{"numbers of many categories", true, 20000, 6, 0.3, 20, 2, 0, 0, false}, 8, 0},
		{world{"numbers of few records", true, 1500, 3, 0.1, 4, 3, 0, 0, false}, 2, 0},
		{world{"numbers with missing cells", true, 12000, 6, 0, 10, 2, 0, 0, false}, 2, 0.08},
	}
	if quick {
		return all[:1]
	}
	return all
}

// categorical is the study of category worlds.
func categorical(ctx context.Context, o study.Options) (*study.Result, error) {
	by := map[string]categoryWorld{}
	var all []world
	for _, w := range categoryWorlds(o.Quick) {
		by[w.Name] = w
		all = append(all, w.world)
	}
	r, err := each(ctx, o, "calibration-categories", all, func(at int) int { return 70_000 + 100*at },
		func(w world, seed uint64) (*experiment.Data, []float64, error) { return by[w.Name].load(seed) })
	if err != nil {
		return nil, err
	}
	for i, s := range r.Settings {
		w := by[s.Name]
		r.Settings[i].Value += fmt.Sprintf(", %d categories, %g of the cells missing", w.categories, w.missing)
	}
	r.About = append(r.About, "Coverage counts the slopes of numbers, and the differences of a category's "+
		"levels from its first: rows don't tell what moves all levels from the intercept.")
	return r, nil
}

// load draws the world's data.
func (w categoryWorld) load(seed uint64) (*experiment.Data, []float64, error) {
	made, err := dataset.RangedGenerator{Rows: w.Rows * 5 / 4, Features: w.Columns, Correlation: w.Correlation,
		Categories: w.categories, Missing: w.missing, Linear: w.Linear, Seed: seed}.Generate()
	if err != nil {
		return nil, nil, err
	}
	d, err := experiment.Source{Records: made.Records, Schema: made.Schema, Linear: w.Linear, Seed: seed,
		Parties: w.Parties, Train: 0.8}.Load()
	return d, made.Weights, err
}
